import { Readable } from 'node:stream'
import vary from 'vary'
import type { FastifyReply } from 'fastify'
import { Skip } from '../lifecycle/listener.js'

/** The reason why headers about documents are not set on redirects. */
export const notOnRedirect = new Skip('not on redirects')
const setByRoute = new Skip('the route has set the header')

/** Sets a header, unless the route has set it. */
export function setIfAbsent (reply: FastifyReply, name: string, value: string): Skip | undefined {
  if (reply.hasHeader(name)) return setByRoute
  reply.header(name, value)
}

/** Whether a response redirects to its `Location` (RFC 9110, section 15.4). */
export function isRedirect (reply: FastifyReply): boolean {
  const { statusCode } = reply
  return statusCode >= 300 && statusCode < 400 && statusCode !== 304 && reply.hasHeader('location')
}

/** Whether shared caches may keep a response, as its own `Cache-Control` says (RFC 9111, section 3). */
export function isCacheable (reply: FastifyReply): boolean {
  const control = reply.getHeader('cache-control')
  return typeof control === 'string' && /\b(?:public|max-age=[1-9]|s-maxage=[1-9])/i.test(control) &&
    !/\b(?:private|no-store|no-cache)\b/i.test(control)
}

/** Whether the own `Cache-Control` of a response keeps it from shared caches (RFC 9111, section 5.2.2). */
export function isPrivate (reply: FastifyReply): boolean {
  const control = [reply.getHeader('cache-control') ?? []].flat().join(', ')
  // `private` with a list of header names concerns these only.
  return /(?:^|,)\s*(?:no-store|private)\s*(?:,|$)/i.test(control)
}

/** Adds the name of a request header that the response depends on to `Vary` (RFC 9110, section 12.5.5). */
export function addVary (reply: FastifyReply, field: string): void {
  const before = reply.getHeader('vary')
  reply.header('vary', before === undefined ? field : vary.append(String(before), field))
}

/** Headers of caches with own directives, which apply before `Cache-Control` (RFC 9213; nginx, Akamai, Fastly). */
const CACHE_HEADER = /^(?:expires|x-accel-expires|(?:edge|surrogate)-control|.+-cache-control)$/

/** Keeps a response out of all caches (RFC 9111, section 5.2.2.5). */
export function preventCaching (reply: FastifyReply): void {
  for (const name of Object.keys(reply.getHeaders())) if (CACHE_HEADER.test(name)) reply.removeHeader(name)
  reply.header('cache-control', 'no-store')
}

/** Headers that describe the bytes of a body (RFC 9110, section 8; RFC 9530), or how they are sent. */
const OF_BODY = [
  'accept-ranges', 'content-digest', 'content-disposition', 'content-encoding', 'content-language', 'content-length',
  'content-location', 'content-md5', 'content-range', 'content-type', 'digest', 'etag', 'last-modified', 'repr-digest',
  'transfer-encoding'
]
const OF_RESPONSE =
  ['cache-control', 'content-security-policy', 'content-security-policy-report-only', 'expires', 'location']

/** Removes the headers of a response whose body is replaced; `onlyOfBody`: its caching, policy and location stay. */
export function dropReplaced (reply: FastifyReply, onlyOfBody = false): void {
  for (const name of onlyOfBody ? OF_BODY : [...OF_BODY, ...OF_RESPONSE]) reply.removeHeader(name)
}

/** Calls `done` at once, or for a stream when it has been sent or aborted. */
export function afterBody (reply: FastifyReply, payload: unknown, done: () => void): void {
  if (isStream(payload)) reply.raw.once('close', done)
  else done()
}

/** Whether a payload is a stream. */
export function isStream (payload: unknown): boolean {
  if (typeof payload !== 'object' || payload === null || Buffer.isBuffer(payload)) return false
  const { pipe, getReader } = payload as { pipe?: unknown, getReader?: unknown }
  return typeof pipe === 'function' || typeof getReader === 'function' || payload instanceof Response
}

const CONTENT_HEADERS = ['content-type', 'content-length', 'content-encoding', 'transfer-encoding']

/** Removes the content of a response whose status has none (RFC 9110, section 6.4.1); returns the new payload. */
export function dropContent (reply: FastifyReply, payload: unknown): Readable | null | undefined {
  for (const name of CONTENT_HEADERS) reply.removeHeader(name)
  const stream = payload as { destroy?: unknown, cancel?: unknown } | null | undefined
  if (typeof stream?.destroy === 'function') stream.destroy()
  // A web stream that already has a reader rejects; its reader will end it.
  else if (typeof stream?.cancel === 'function') Promise.resolve(stream.cancel()).catch(() => {})
  // Fastify's own HEAD routes fail at null, and count the length of everything but a stream.
  if (reply.request.method === 'HEAD') return Readable.from([])
  // Hooks of the application receive the same kind of empty payload as without Hindsight.
  return payload === undefined ? undefined : null
}
