import type { FastifyReply } from 'fastify'
import { isSameValue, type HeaderValue } from './slot-memory.js'

/** Where something was called from: V8 writes the stack when it is first read. */
export interface CallSite {
  readonly stack?: string
}

/** A change of a header that none of the listeners made. */
export interface OutsideChange {
  name: string
  from: HeaderValue
  to: HeaderValue
  /** How many events were recorded ahead of it. */
  after: number
  /** Whether the handler of the route was at work. */
  handling: boolean
  /** What was called, such as `reply.header`. */
  via: string
  site: CallSite
  /** A cookie that was asked for by this name: the header is written by the session listener, for all of them. */
  cookie?: string | undefined
}

type Caller = (...args: never[]) => unknown

/** Enough for who called, and for who called a package; each call more costs whenever the profile is made. */
const DEPTH = 6
/** A handler may change a header in a loop. */
const MAX_CHANGES = 100

/** Who changed headers outside of the listeners, in order; kept where requests are explained, which is in debug mode. */
export class HeaderTrail {
  readonly changes: OutsideChange[] = []
  /** How many more there were. */
  dropped = 0
  /** Where all that is noted comes from, while that is known: to find it out for each of many changes costs more than they do. */
  site: CallSite | null = null

  /** Notes a change, where it is one, with what called `caller`. */
  note (change: Omit<OutsideChange, 'site'>, caller: Caller): void {
    if (change.cookie === undefined && isSameValue(change.from, change.to)) return
    if (this.changes.length >= MAX_CHANGES) this.dropped++
    else this.changes.push(withSite(change, this.site ?? siteAbove(caller)))
  }
}

// Each field by its name: what is spread and added to gets a shape of its own each time, which stays until all of the heap is collected.
function withSite ({ name, from, to, after, handling, via, cookie }: Omit<OutsideChange, 'site'>, site: CallSite): OutsideChange {
  return { name, from, to, after, handling, via, site, cookie }
}

/** The value of a header as it is now: Fastify adds further cookies to the list that is there. */
export function valueOf (reply: FastifyReply, name: string): HeaderValue {
  const value: unknown = reply.getHeader(name)
  // Fastify looks in an object that has `constructor` and the like from its prototype.
  return typeof value === 'function' ? undefined : copied(value as HeaderValue)
}

/** A value that whoever goes on with it does not change. */
export function copied (value: HeaderValue): HeaderValue {
  return Array.isArray(value) ? [...value] : value
}

/** The place that has called a function. */
export function siteAbove (caller: Caller): CallSite {
  const { stackTraceLimit } = Error
  const site = {}
  Error.stackTraceLimit = DEPTH
  Error.captureStackTrace(site, caller)
  Error.stackTraceLimit = stackTraceLimit
  return site
}
