import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { attemptCall } from '../call.js'
import { validateHeaderName, validateHeaderValue } from './node-http.js'

/** Whether a response redirects to its `Location` (RFC 9110, section 15.4). */
export function isRedirect (reply: FastifyReply): boolean {
  const { statusCode } = reply
  return statusCode >= 300 && statusCode < 400 && statusCode !== 304 && reply.hasHeader('location')
}

/** The values of a header of a response; empty where it is not set. */
export function headerValues (reply: FastifyReply, name: string): string[] {
  return [reply.getHeader(name) ?? []].flat().map(String)
}

/** Whether the `Cache-Control` of a response keeps it from shared caches (RFC 9111, section 5.2.2). */
export function isPrivate (reply: FastifyReply): boolean {
  const control = headerValues(reply, 'cache-control').join(', ')
  // `private` with a list of header names concerns these only.
  return /(?:^|,)\s*(?:no-store|private)\s*(?:,|$)/i.test(control)
}

/** Adds the name of a request header that the response depends on to `Vary` (RFC 9110, section 12.5.5). */
export function addVary (reply: FastifyReply, field: string): void {
  const before = String(reply.getHeader('vary') ?? '')
  const fields = before.split(',').map((name) => name.trim().toLowerCase()).filter((name) => name !== '')
  if (fields.includes('*') || fields.includes(field.toLowerCase())) return
  reply.header('vary', fields.length > 0 ? `${before}, ${field}` : field)
}

/** Headers of caches with further directives, which apply before `Cache-Control` (RFC 9213; nginx, Akamai, Fastly). */
const CACHE_HEADER = /^(?:expires|x-accel-expires|(?:edge|surrogate)-control|.+-cache-control)$/

/** Keeps a response out of all caches (RFC 9111, section 5.2.2.5). */
export function preventCaching (reply: FastifyReply): void {
  for (const name of Object.keys(reply.getHeaders())) if (CACHE_HEADER.test(name)) reply.removeHeader(name)
  reply.header('cache-control', 'no-store')
}

/** Headers that describe the bytes of a body (RFC 9110, section 8; RFC 9530), or how they are sent. */
const OF_BODY = new Set([
  'accept-ranges', 'content-digest', 'content-disposition', 'content-encoding', 'content-language', 'content-length',
  'content-location', 'content-md5', 'content-range', 'content-type', 'digest', 'etag', 'last-modified', 'repr-digest',
  'transfer-encoding'
])
const OF_RESPONSE = new Set([
  'cache-control', 'content-security-policy', 'content-security-policy-report-only', 'expires', 'location'
])

/** Removes the headers of a response whose body is replaced; `onlyOfBody`: its caching, policy and location stay. */
export function dropReplaced (reply: FastifyReply, onlyOfBody = false): void {
  for (const name of Object.keys(reply.getHeaders())) {
    if (OF_BODY.has(name) || (!onlyOfBody && OF_RESPONSE.has(name))) reply.removeHeader(name)
  }
}

/** The headers that Node.js refuses to write, each with its error. */
export function invalidHeaders (reply: FastifyReply): Array<[name: string, error: unknown]> {
  return Object.entries(reply.getHeaders()).flatMap(([name, value]) => attemptCall((): Array<[string, unknown]> => {
    validateHeaderName(name)
    for (const one of [value].flat()) validateHeaderValue(name, one as string)
    return []
  }, (error) => [[name, error]]))
}

/** Whether no client receives a body of the response (RFC 9110, section 6.4.1). */
export function hasNoBody ({ method }: FastifyRequest, status: number): boolean {
  return method === 'HEAD' || status === 204 || status === 304
}

/** Whether a payload is a `Response`, as Fastify recognizes it: the class itself loads undici with its first use. */
export function isResponse (payload: unknown): payload is Response {
  return Object.prototype.toString.call(payload) === '[object Response]'
}

export function isStream (payload: unknown): boolean {
  if (typeof payload !== 'object' || payload === null || Buffer.isBuffer(payload)) return false
  const { pipe, getReader } = payload as { pipe?: unknown, getReader?: unknown }
  return typeof pipe === 'function' || typeof getReader === 'function' || isResponse(payload)
}

/** Calls `done` at once, or for a stream when it has been sent or aborted. */
export function afterBody (reply: FastifyReply, payload: unknown, done: () => void): void {
  if (isStream(payload)) reply.raw.once('close', done)
  else done()
}

/** Responses without an end, which clients close (HTML Standard, section 9.2; RFC 2046, section 5.1). */
const ENDLESS = /^(?:text\/event-stream|multipart\/x-mixed-replace)\b/i

/** Whether the connection is used for another protocol. */
export function isUpgraded ({ raw: { headers } }: FastifyRequest, { raw, sent }: FastifyReply): boolean {
  return headers.upgrade !== undefined && sent && !raw.headersSent
}

/** Whether a response has begun that has no end of its own. */
export function isEndless ({ headers }: FastifyRequest, reply: FastifyReply): boolean {
  if (!reply.raw.headersSent) return false
  // Node.js does not return what a hijacked reply passes to `writeHead`. An EventSource accepts event streams only.
  return ENDLESS.test(String(reply.getHeader('content-type') ?? headers.accept ?? ''))
}

export type Nonces = ReturnType<typeof noncesOf>

/** A nonce of 128 random bits (CSP3, section 7.1). */
export function generateNonce (): string {
  return randomBytes(16).toString('base64')
}

/** The nonces that a response shares with its policy, generated when they are first read (CSP3, section 2.3.1). */
export function noncesOf (state: { scriptNonce: string, styleNonce: string }) {
  return {
    get script () { return (state.scriptNonce ||= generateNonce()) },
    get style () { return (state.styleNonce ||= generateNonce()) }
  }
}

/** The directives of a policy with a nonce added to one of them, or to a copy of its fallback. */
export function withNonce (directives: readonly string[], name: string, nonce: string): readonly string[] {
  if (nonce === '') return directives
  const named = (wanted: string): string | undefined => directives.find((directive) => nameOf(directive) === wanted)
  const given = named(name)
  const base = given ?? named('default-src')
  // Without a fallback nothing is restricted.
  if (base === undefined) return directives
  // 'none' is only valid alone (CSP3, section 2.3.1).
  const sources = base.split(/\s+/).slice(1).filter((source) => !/^'none'$/i.test(source))
  const extended = [name, ...sources, `'nonce-${nonce}'`].join(' ')
  return given === undefined
    ? [...directives, extended]
    : directives.map((directive) => directive === given ? extended : directive)
}

/** A policy header with an address for reports, in each policy that has none (CSP3, section 5.3). */
export function withReportUri (header: string, uri: string): string {
  return header.split(',').map((policy) => {
    const names = policy.split(';').map((directive) => nameOf(directive.trim()))
    if (names.every((name) => name === '') || names.includes('report-uri') || names.includes('report-to')) return policy
    return `${policy.replace(/(?<![;\s])[;\s]+$/, '')};report-uri ${uri}`
  }).join(',')
}

function nameOf (directive: string): string {
  return (directive.split(/\s/, 1)[0] as string).toLowerCase()
}
