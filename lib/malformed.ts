import type { IncomingMessage } from 'node:http'
import { METHODS } from 'node:http'
import type { FastifyInstance, FastifyRequest, FastifyServerOptions } from 'fastify'
import {
  badRequest, connectionOf, headerText, isSameOrigin, messageState, pathOf, percentDecoded, setMessageState
} from 'fastify-hindsight/recorder'
import { messageOptions } from 'fastify-hindsight/server-options'

/** The target of messages that request validation has to refuse. No application declares a route for it. */
const UNROUTABLE = '/.hindsight-unroutable'
/** How many requests of one connection may wait for their responses: Node.js parses all that came in one packet. */
const MAX_PIPELINED = 32
const CROSS_SITE = 'Cross-site method override: send it from a page of the same origin, or send the method itself; ' +
  'behind a proxy, set trustedProxies (TRUSTED_PROXIES).'
const METHOD = /^[A-Z-]{1,32}$/

/** The server options that turn malformed messages into explained errors; Fastify is created with them. */
export function validatedMessages (methodOverride: boolean): FastifyServerOptions {
  return {
    ...messageOptions(),
    rewriteUrl (message) {
      return routedTarget(this, message as IncomingMessage, methodOverride)
    },
    frameworkErrors (error, request, reply) {
      // What the router refuses, such as too long a parameter, is routed again for request validation to refuse it.
      const { raw } = request
      setMessageState(raw, { refused: error, target: raw.url ?? '', ...messageState(raw) })
      raw.url = UNROUTABLE
      request.server.routing(raw, reply.raw)
    }
  } as FastifyServerOptions
}

/** The target by which a message is routed: its path and query, or `UNROUTABLE` where it has to be refused. */
function routedTarget (app: FastifyInstance, message: IncomingMessage, methodOverride: boolean): string {
  const { url = '/' } = message
  if (url === UNROUTABLE) return url
  const problem = framingProblem(message) ?? pipeliningProblem(message) ??
    (methodOverride ? overrideMethod(app, message) : null) ?? decodingProblem(url)
  // RFC 9112: a server accepts the absolute form (section 3.2.2) and `*` (section 3.2.4).
  if (problem === null && messageState(message).method === undefined) return pathOf(url)
  setMessageState(message, { target: url, ...(problem !== null && { refused: problem }) })
  return UNROUTABLE
}

/** Gives a POST the method of `X-HTTP-Method-Override` or `_method`. Returns why that is refused, or null. */
function overrideMethod (app: FastifyInstance, message: IncomingMessage): Error | null {
  const query = /\?.*/.exec(message.url ?? '')?.[0]
  const wanted = message.headers['x-http-method-override'] ?? new URLSearchParams(query).get('_method')
  if (message.method !== 'POST' || typeof wanted !== 'string' || wanted === '') return null
  if (isCrossSite(app, message)) return badRequest(CROSS_SITE)
  const method = wanted.toUpperCase()
  // The client of a POST reads `Content-Length` octets, which a response to HEAD does not have: it would read them from
  // the next response.
  const isValid = METHOD.test(method) && method !== 'CONNECT' && method !== 'HEAD'
  if (!isValid) return badRequest('Invalid HTTP method override.')
  if (METHODS.includes(method)) message.method = method
  // Fastify runs no hooks for a method that Node.js does not have: request validation sets it.
  else setMessageState(message, { method })
  return null
}

// Pages cannot choose either header (Fetch, section 2.2.2; Fetch Metadata, section 2.4); other clients send neither.
function isCrossSite ({ hindsight }: FastifyInstance, message: IncomingMessage): boolean {
  const { origin, 'sec-fetch-site': site = 'none' } = message.headers
  if (site !== 'same-origin' && site !== 'none') return true
  return origin !== undefined && !isSameOrigin(origin, hindsight.originOf({ raw: message } as FastifyRequest))
}

function decodingProblem (url: string): Error | null {
  if (/[^\x00-\x7f]/.test(url)) {
    return badRequest(`Invalid URL "${headerText(url)}": characters outside US-ASCII must be percent-encoded.`)
  }
  if (!url.includes('%') || percentDecoded(url.replace(/[?#].*$/s, '')) !== null) return null
  return badRequest(`Invalid URL "${url}": its percent-encoding cannot be decoded as UTF-8.`)
}

function pipeliningProblem (message: IncomingMessage): Error | null {
  if (connectionOf(message.socket).responses.length <= MAX_PIPELINED) return null
  markAsLast(message)
  return badRequest(`More than ${MAX_PIPELINED} requests of this connection wait for their responses.`)
}

/** Why the end of a message is uncertain (RFC 9112, section 6.1): no message after it is handled. Null if it is not. */
export function framingProblem (message: IncomingMessage): Error | null {
  const { last } = connectionOf(message.socket)
  if (last !== undefined && last !== message) {
    return badRequest('This message follows one on its connection whose end is not certain.')
  }
  const problem = versionProblem(message) ?? codingProblem(message)
  if (problem !== null || requestsUpgrade(message)) markAsLast(message)
  return problem === null ? null : badRequest(problem)
}

/** Makes a message the last of its connection: those after it are refused, and its response closes the connection. */
function markAsLast (message: IncomingMessage): void {
  connectionOf(message.socket).last = message
}

/** Whether a message is the last of its connection. */
export function isLast (message: IncomingMessage): boolean {
  return connectionOf(message.socket).last === message
}

// HTTP/2 has other connections, and HTTP/0.9 no headers: a false version can be an attempt to smuggle requests.
function versionProblem (message: IncomingMessage): string | null {
  if (message.httpVersion.startsWith('1.') || 'stream' in message) return null
  return `HTTP/${message.httpVersion} is not supported on this connection; use HTTP/1.1.`
}

function codingProblem ({ headers: { 'transfer-encoding': coding }, httpVersion }: IncomingMessage): string | null {
  if (coding === undefined || (httpVersion !== '1.0' && coding.toLowerCase() === 'chunked')) return null
  const why = httpVersion === '1.0' ? 'an HTTP/1.0 message has none' : 'only "chunked" is supported'
  return `Invalid Transfer-Encoding "${headerText(coding)}": ${why} (RFC 9112, section 6.1).`
}

// Without a listener for upgrades, Node.js drops the rest of the packet of such a request, even half a message.
function requestsUpgrade ({ headers: { upgrade, connection } }: IncomingMessage): boolean {
  return upgrade !== undefined && /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(connection ?? '')
}
