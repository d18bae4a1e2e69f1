import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { EventRecorder } from './event-recorder.js'
import { copied } from './header-trail.js'
import { stateOf } from './request-state.js'
import { isSameValue, type HeaderValue } from './slot-memory.js'

type Method = (this: ServerResponse, ...args: unknown[]) => unknown

interface Watch {
  reply: FastifyReply
  recorder: EventRecorder
  methods: Readonly<Record<string, Method>>
  /** Whether Node.js is at work on a change that is noted: it may set what it was given by its own functions, one by one. */
  busy: boolean
}

const kWatch = Symbol('hindsight.rawHeaders')
type Watched = ServerResponse & { [kWatch]?: Watch }

const METHODS = ['setHeader', 'appendHeader', 'removeHeader'] as const
// The same functions for each response: one of its own would cost a closure.
const WATCHED: Readonly<Record<string, Method>> = Object.fromEntries(METHODS.map((name) => [name, watched(name)]))

/** Notes what changes headers on Node.js's own response of an observed request, past Fastify. */
export function watchRawHeaders (reply: FastifyReply, recorder: EventRecorder): void {
  const raw = reply.raw as unknown as Record<string, Method | undefined> & { [kWatch]?: Watch }
  const methods: Record<string, Method> = {}
  for (const name of METHODS) {
    const method = raw[name]
    const own = WATCHED[name]
    if (typeof method !== 'function' || own === undefined) continue
    methods[name] = method
    raw[name] = own
  }
  raw[kWatch] = { reply, recorder, methods, busy: false }
}

/** Writes the head, and notes the headers that were given with it; those that Fastify gives are those of its reply. */
export function writeNoted (raw: ServerResponse, write: Method, args: readonly unknown[], caller: (...args: never[]) => unknown): unknown {
  const watch = (raw as Watched)[kWatch]
  if (watch === undefined) return write.apply(raw, [...args])
  noteGiven(watch, typeof args[1] === 'string' ? args[2] : args[1], caller)
  watch.busy = true
  try {
    return write.apply(raw, [...args])
  } finally {
    watch.busy = false
  }
}

function noteGiven (watch: Watch, given: unknown, caller: (...args: never[]) => unknown): void {
  const { trail } = watch.recorder
  if (trail === null || typeof given !== 'object' || given === null) return
  const headers = Array.isArray(given) ? grouped(pairsOf(given)) : given as OutgoingHttpHeaders
  for (const name in headers) {
    const to = headers[name]
    const from = watch.reply.getHeader(name)
    if (to !== undefined && !isSameValue(from, to)) trail.note({ name: name.toLowerCase(), from: copied(from), to: copied(to), after: watch.recorder.recorded, handling: stateOf(watch.reply.request).isHandling, via: 'reply.raw.writeHead' }, caller)
  }
}

function watched (method: string): Method {
  return function watchedChange (this: Watched, ...args) {
    const watch = this[kWatch] as Watch
    const { reply, recorder, methods, busy } = watch
    const change = methods[method] as Method
    const { trail } = recorder
    if (trail === null || busy || !recorder.isOutside) return change.apply(this, args)
    const name = String(args[0]).toLowerCase()
    // Ahead of a stream Fastify hands the headers of its reply over one by one.
    if (method === 'setHeader' && isSameValue(reply.getHeader(name), args[1] as HeaderValue)) return change.apply(this, args)
    const from = copied(this.getHeader(name))
    watch.busy = true
    let result: unknown
    try {
      result = change.apply(this, args)
    } finally {
      watch.busy = false
    }
    trail.note({ name, from, to: copied(this.getHeader(name)), after: recorder.recorded, handling: stateOf(reply.request).isHandling, via: `reply.raw.${method}` }, watchedChange)
    return result
  }
}

// A name that comes twice is sent twice.
function grouped (pairs: ReadonlyArray<readonly [name: string, value: HeaderValue]>): OutgoingHttpHeaders {
  const headers = new Map<string, HeaderValue>()
  for (const [name, value] of pairs) {
    const key = name.toLowerCase()
    const before = headers.get(key)
    headers.set(key, before === undefined || value === undefined ? value : [before, value].flat().map(String))
  }
  return Object.fromEntries(headers)
}

// A list of names and values, flat or in pairs.
function pairsOf (list: readonly unknown[]): Array<[string, HeaderValue]> {
  if (list.every((one) => Array.isArray(one))) return (list as Array<[unknown, HeaderValue]>).map(([name, value]) => [String(name), value])
  return list.flatMap((name, i): Array<[string, HeaderValue]> => i % 2 === 0 ? [[String(name), list[i + 1] as HeaderValue]] : [])
}
