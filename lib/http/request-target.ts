import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { cachedByObject } from '../cache.js'
import { headerText } from './header-text.js'

/** The results of the server options, which check a message before Fastify routes it. */
interface MessageState {
  /** Why request validation has to refuse the message. */
  refused?: Error
  /** The target as the client sent it, where the message was routed by another one. */
  target?: string
  /** The method of an override that is unknown to Fastify, which has routed the message by another one. */
  method?: string
}

const kState = Symbol('hindsight.message')
type Message = IncomingMessage & { [kState]?: MessageState }

/** The state of a raw message; empty for most messages. */
export function messageState (message: Message): Readonly<MessageState> {
  return message[kState] ?? {}
}

/** Adds fields to the state of a raw message. */
export function setMessageState (message: Message, state: MessageState): void {
  message[kState] = { ...messageState(message), ...state }
}

interface Connection {
  /** The responses that were open when the newest request came, and its own. */
  responses: readonly ServerResponse[]
  /** Whether a message was refused: what follows is read and discarded. */
  isRefused: boolean
  /** The message after which none is handled. */
  last?: IncomingMessage
  /** Whether it was idle for longer than the server permits, when Node.js closes it; undefined: not watched. */
  isTimedOut?: boolean
}

const ofSocket = cachedByObject((_socket: object): Connection => ({ responses: [], isRefused: false }))

/** The state of a connection; made with the first call. A request that a plugin constructs may have no socket. */
export function connectionOf (socket: Socket | null | undefined): Connection {
  return ofSocket(socket ?? {})
}

/** The target as the client sent it: path and query, percent-encoding kept. */
export function targetOf (request: FastifyRequest): string {
  return headerText(pathOf(messageState(request.raw).target ?? request.originalUrl))
}

/** The target's path, without query and fragment. */
export function pathnameOf (request: FastifyRequest): string {
  return targetOf(request).replace(/[?#].*$/s, '')
}

/** The path and query of a request target of any form (RFC 9112, section 3.2). */
export function pathOf (url: string): string {
  if (url.startsWith('/')) return url
  if (url === '*') return '/*'
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

/** Returns the function that finds the first rule for the path of a request; a rule without `path` is for all. */
export function ruleFinder<T extends { path?: string | RegExp }> (rules: readonly T[]) {
  return (request: FastifyRequest) =>
    rules.find(({ path }) => path === undefined || pathMatches(path, pathnameOf(request))) ?? null
}

/** Whether a rule with this `path` applies to a path. */
export function pathMatches (path: string | RegExp, pathname: string): boolean {
  return typeof path === 'string' ? pathname.startsWith(path) : path.test(pathname)
}

/** Whether the method is GET or HEAD: redirects keep these methods, and caches store their responses. */
export function isRetrieval ({ method }: { method: string }): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** The first segments of the profiler's paths: its pages, the toolbar and previews of error pages. */
export const OWN_SEGMENTS: readonly string[] = ['_profiler', '_wdt', '_error']

/** Whether a path is the profiler's; `base`: the prefix of the application. */
export function isOwnPath (path: string, base = ''): boolean {
  return path.startsWith(base) && OWN_SEGMENTS.includes(firstSegment(path.slice(base.length)))
}

/** Whether a path is one at which profiles are read: its requests have no profile. Previews of error pages have. */
export function isProfilePath (path: string, base: string): boolean {
  return path.startsWith(base) && ['_profiler', '_wdt'].includes(firstSegment(path.slice(base.length)))
}

// A router may decode a path, ignore its case and leave out slashes: each such spelling is the profiler's.
function firstSegment (path: string): string {
  return /^[\\/]*([^\\/]*)/.exec(path.replace(/%[0-7][\da-f]/gi, decodeURIComponent))?.[1]?.toLowerCase() ?? ''
}
