import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { statusOf } from '../http/http-errors.js'
import { read } from './thrown-value.js'

/** Headers that describe the body of the failed handler, which is not sent. */
const ENTITY_HEADERS: ReadonlySet<string> = new Set([
  'cache-control', 'content-disposition', 'content-encoding', 'content-language', 'content-length', 'content-range',
  'content-security-policy', 'content-security-policy-report-only', 'etag', 'expires', 'last-modified', 'location',
  'transfer-encoding'
])

/** Removes headers of the body that is not sent, and sets the status and the headers of the error. */
export function prepareFailedReply (raised: unknown, request: FastifyRequest, reply: FastifyReply): void {
  dropEntityHeaders(reply)
  reply.code(statusOf(raised, reply.statusCode))
  // A failed `writeHead` has set the message of another status.
  if (reply.raw.statusMessage !== undefined) reply.raw.statusMessage = STATUS_CODES[reply.statusCode] ?? ''
  const headers = read(raised, 'headers')
  try {
    if (typeof headers === 'object' && headers !== null) reply.headers(headers as Record<string, string>)
  } catch (error) {
    request.log.warn({ err: error, channel: 'request' }, 'The headers of the error could not be set')
  }
  dropInvalidHeaders(request, reply)
}

/** Removes the headers that describe a body that is not sent. */
export function dropEntityHeaders (reply: FastifyReply): void {
  for (const name of Object.keys(reply.getHeaders())) if (ENTITY_HEADERS.has(name)) reply.removeHeader(name)
}

/** Removes headers that Node.js refuses to write: they may be what failed, and would keep the page from being sent. */
export function dropInvalidHeaders (request: FastifyRequest, reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    try {
      validateHeaderName(name)
      for (const one of [value].flat()) validateHeaderValue(name, one as string)
    } catch (error) {
      reply.removeHeader(name)
      request.log.warn({ err: error, channel: 'request' }, 'A header that cannot be sent was left out')
    }
  }
}
