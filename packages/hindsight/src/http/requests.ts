import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { attemptCall } from '../call.js'

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
  last: IncomingMessage | undefined
  /** Whether it was idle for longer than the server permits, when Node.js closes it; undefined: not watched. */
  isTimedOut: boolean | undefined
}

const kConnection = Symbol('hindsight.connection')

/** The state of a connection; made with the first call. A request that a plugin constructs may have no socket. */
export function connectionOf (socket: Socket | null | undefined): Connection {
  const holder = (socket ?? {}) as { [kConnection]?: Connection }
  return (holder[kConnection] ??= { responses: [], isRefused: false, last: undefined, isTimedOut: undefined })
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
export const PROFILER_SEGMENTS: readonly string[] = ['_profiler', '_wdt', '_error']

/** Where models connect. */
export const MCP_PATH = '/_profiler/mcp'
/** What pages of other servers request for their toolbar. */
export const PAGE_PATHS: readonly string[] = ['/_wdt/toolbar.js', '/_wdt/requests.json']

/** Whether a path is the profiler's; `base`: the prefix of the application. */
export function isProfilerPath (path: string, base = ''): boolean {
  return path.startsWith(base) && PROFILER_SEGMENTS.includes(firstSegment(path.slice(base.length)))
}

/** Whether a path is one at which profiles are read: its requests have no profile. Previews of error pages have. */
export function isProfilePath (path: string, base: string): boolean {
  return path.startsWith(base) && ['_profiler', '_wdt'].includes(firstSegment(path.slice(base.length)))
}

// A router may decode a path, ignore its case and leave out slashes: each such spelling is the profiler's.
function firstSegment (path: string): string {
  return /^[\\/]*([^\\/]*)/.exec(path.replace(/%[0-7][\da-f]/gi, decodeURIComponent))?.[1]?.toLowerCase() ?? ''
}

/** The text of a header value: Node.js decodes it as ISO 8859-1, clients send UTF-8 (RFC 9110, section 5.5). */
export function headerText (value: string): string {
  return /^[\x00-\x7f]*$/.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8')
}

/** All values of a header that the client sent, joined by a comma and a space (RFC 9110, section 5.3). */
export function joinedHeader (rawHeaders: readonly string[], name: string): string {
  const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)
  return headerText(values.filter((value) => value !== '').join(', '))
}

/** Percent-encodes text for a header value: only unreserved characters stay (RFC 3986, section 2.3). */
export function percentEncoded (text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Percent-decodes; null where that is not possible. */
export function percentDecoded (text: string): string | null {
  return attemptCall(() => decodeURIComponent(text)) ?? null
}

const OF_CLIENT = new RegExp('^(?:user-agent|accept|accept-(?:language|encoding)|host|referer|origin|dnt|pragma|te|' +
  'priority|cache-control|connection|upgrade-insecure-requests|via|forwarded|x-real-ip|(?:sec|x-forwarded)-.*)$', 'i')

/** Whether a header depends on the client and its network, and not on what was requested. */
export function isClientHeader (name: string): boolean {
  return OF_CLIENT.test(name)
}

/** Characters of the header: the cost of negotiation is the product of its entries and the offers. */
const MAX_LENGTH = 2_048

/** The offer that an `Accept` header prefers (RFC 9110, section 12.5.1); undefined if it accepts none. */
export function preferredType<T extends string> (accept: string, offers: readonly T[]): T | undefined {
  // The negotiator compares parameters, and clients may name the charset that is always sent.
  const shortened = accept.slice(0, MAX_LENGTH).replace(/;\s*charset="?utf-8"?/gi, '')
  return new Negotiator({ headers: { accept: shortened } }).mediaType(offers as T[]) as T | undefined
}

export function namesHtml (accept: string): boolean {
  return /\btext\/html\b/i.test(accept.slice(0, MAX_LENGTH))
}

/** A format of an error response. */
export interface Representation {
  type: 'html' | 'json' | 'text' | 'markdown'
  contentType: string
}

const HTML: Representation = { type: 'html', contentType: 'text/html; charset=utf-8' }

// Listed by preference, for clients that accept several formats equally.
const OFFERS = new Map<string, Representation>([
  ['text/html', HTML],
  ['application/problem+json', { type: 'json', contentType: 'application/problem+json' }],
  ['application/json', { type: 'json', contentType: 'application/json' }],
  ['text/plain', { type: 'text', contentType: 'text/plain; charset=utf-8' }],
  ['text/markdown', { type: 'markdown', contentType: 'text/markdown; charset=utf-8' }]
])
const MEDIA_TYPES = [...OFFERS.keys()]

/** The format of an error response by the `Accept` header; HTML where it accepts none of the formats. */
export function errorRepresentation (accept: string | undefined): Representation {
  if (accept === undefined) return HTML
  return OFFERS.get(preferredType(accept, MEDIA_TYPES) ?? '') ?? HTML
}

/** Whether `Accept` names HTML and prefers it to the other formats; false for a client that accepts anything. */
export function prefersHtml (accept: string | undefined): boolean {
  return accept !== undefined && namesHtml(accept) && errorRepresentation(accept).type === 'html'
}
