import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { statusOf } from '../http/http-errors.js'

// What the failed handler said about a body that is not sent.
const ENTITY_HEADERS: ReadonlySet<string> = new Set([
  'cache-control', 'content-disposition', 'content-encoding', 'content-language', 'content-length', 'content-range',
  'content-security-policy', 'content-security-policy-report-only', 'etag', 'expires', 'last-modified', 'location', 'transfer-encoding'
])

/** Removes what the failed handler has set for a body that is not sent, and sets the status and headers of the error. */
export function prepareFailedReply (raised: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const headers = reply.getHeaders()
  const had = dropEntityHeaders(reply, headers)
  reply.code(statusOf(raised, reply.statusCode))
  // What a failed attempt to write the head has left behind.
  if (reply.raw.statusMessage !== undefined) reply.raw.statusMessage = STATUS_CODES[reply.statusCode] ?? ''
  if (setHeadersOf(raised, request, reply) || had) dropUnsendable(request, reply)
}

function setHeadersOf (raised: unknown, request: FastifyRequest, reply: FastifyReply): boolean {
  try {
    const headers = typeof raised === 'object' && raised !== null ? (raised as { headers?: unknown }).headers : undefined
    if (typeof headers !== 'object' || headers === null || Object.keys(headers).length === 0) return false
    reply.headers(headers as Record<string, string>)
  } catch (error) {
    request.log.warn({ err: error, channel: 'request' }, 'The headers of the error could not be set')
  }
  return true
}

/** Takes away what described a body that is not sent; says whether there were headers at all. */
export function dropEntityHeaders (reply: FastifyReply, headers: object): boolean {
  let any = false
  for (const name in headers) {
    any = true
    if (ENTITY_HEADERS.has(name)) reply.removeHeader(name)
  }
  return any
}

/** Takes away the headers that Node.js refuses to write: they would keep the page from being sent, and may be what failed in the first place. */
export function dropUnsendable (request: FastifyRequest, reply: FastifyReply): void {
  const headers = reply.getHeaders()
  for (const name in headers) {
    const value = headers[name]
    try {
      validateHeaderName(name)
      for (const one of [value].flat()) validateHeaderValue(name, one as string)
    } catch (error) {
      reply.removeHeader(name)
      request.log.warn({ err: error, channel: 'request' }, 'A header that cannot be sent was left out')
    }
  }
}
