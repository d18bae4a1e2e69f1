import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import { connectionOf, headerText, messageState, pathOf, percentDecoded, setMessageState } from '../http/requests.js'
import {
  badRequest, HeaderOverflowError, MalformedMessageError, RequestTimeoutError, SuspiciousOperationError
} from '../http/http-errors.js'
import { METHODS } from '../http/node-http.js'
import { isOwnOrigin } from '../http/origin.js'
import { MAX_PACKET, refuseMessage, trackResponses, type RefusedRequest } from '../http/refused-message.js'
import type { ServerSettings } from '../options.js'

/** An error of the HTTP parser of Node.js. */
interface ParserError extends Error {
  code?: string
  reason?: string
  rawPacket?: Buffer
  bytesParsed?: number
}

/** The target of messages that request validation has to refuse. No application declares a route for it. */
const UNROUTABLE = '/.hindsight-unroutable'
/** How many requests of one connection may wait for their responses: Node.js parses all that came in one packet. */
const MAX_PIPELINED = 32
const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'
const CROSS_SITE = 'Cross-site method override: send it from a page of the same origin, or send the method itself; ' +
  'behind a proxy, set trustedProxies (TRUSTED_PROXIES).'
const METHOD = /^[A-Z-]{1,32}$/
const REQUEST_LINE = /^([A-Za-z-]{1,32}) (\S+)(?= HTTP\/|\r?\n|$)/

/** The server options that turn malformed messages into explained errors; Fastify is created with them. */
export function messageOptions (
  { methodOverride = false }: Partial<Pick<ServerSettings, 'methodOverride'>> = {}
): FastifyServerOptions {
  if (typeof methodOverride !== 'boolean') throw new TypeError('methodOverride must be true or false')
  trackResponses()
  return {
    rewriteUrl (message) {
      return isFull(this) ? routedTarget(this, message as IncomingMessage, methodOverride) : message.url ?? '/'
    },
    frameworkErrors (error, request, reply) {
      if (!isFull(request.server)) return answerAsFastify(error, reply)
      // What the router refuses, such as too long a parameter, is routed again for request validation to refuse it.
      const { raw } = request
      setMessageState(raw, { refused: error, target: raw.url ?? '', ...messageState(raw) })
      raw.url = UNROUTABLE
      request.server.routing(raw, reply.raw)
    },
    clientErrorHandler (error, socket) {
      answerMalformed(this as unknown as FastifyInstance, error as unknown as ParserError, socket)
    }
  } as FastifyServerOptions
}

// The answer of Fastify without the option `frameworkErrors`.
function answerAsFastify ({ code, message, statusCode = 400 }: FastifyError, reply: FastifyReply): void {
  const body = JSON.stringify({ error: 'Bad Request', code, message, statusCode })
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  reply.hijack().raw.writeHead(statusCode, headers).end(body)
}

function isFull (app: FastifyInstance): boolean {
  return app.hasDecorator('hindsight') && app.hindsight.mode === 'full'
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
  return origin !== undefined && !isOwnOrigin(origin, hindsight.originOf({ raw: message } as FastifyRequest))
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

function answerMalformed (app: FastifyInstance, error: ParserError, socket: Socket): void {
  const newest = connectionOf(socket).responses.at(-1)
  // The request whose body was refused.
  const current = newest === undefined || newest.req.complete ? null : newest
  // A client that leaves before the end of a body: the profile of its request records that.
  const hasLeft = error.code === 'HPE_INVALID_EOF_STATE' && current !== null
  const isRefusal = error.code === TIMEOUT || (error.code?.startsWith('HPE_') === true && !hasLeft)
  if (isRefusal && connectionOf(socket).isRefused) return
  // Browsers open connections in advance: one that has sent nothing is closed without an answer.
  if (!isRefusal || !socket.writable || socket.bytesRead === 0) {
    socket.destroy()
    return
  }
  const packet = refusedPart(error, socket)
  if (current === null) return refuseMessage(app, socket, httpErrorOf(error), null, parsedRequest(packet))
  const { method = '-', url = '/', headers: { host } } = current.req
  const { target = url } = messageState(current.req)
  refuseMessage(app, socket, httpErrorOf(error), current, { method, target: pathOf(target), host, packet })
}

function parsedRequest (packet: string): RefusedRequest {
  const [, method = '-', target = '/'] = REQUEST_LINE.exec(packet) ?? []
  const [section = ''] = packet.split(/\r?\n\r?\n/, 1)
  // The first line is no header; it may be the rest of one of an earlier packet.
  const host = /\nhost:[ \t]*([^\r\n]*)/i.exec(section)?.[1]?.trimEnd()
  return { method, target: pathOf(target), host, packet }
}

/** The refused message within the last packet, as Latin-1 text. */
function refusedPart ({ rawPacket, bytesParsed = 0 }: ParserError, socket: Socket): string {
  const packet = rawPacket?.toString('latin1') ?? ''
  const before = Math.max(0, bytesParsed - 1)
  // A packet may contain other messages before the refused one.
  const end = packet.lastIndexOf('\r\n\r\n', before)
  let start = end === -1 || end + 4 > bytesParsed ? 0 : end + 4
  if (start === 0 && socket.bytesRead !== packet.length && !REQUEST_LINE.test(packet)) {
    // The first line may be the rest of a secret of an earlier packet, which has no name here by which to mask it.
    start = packet.lastIndexOf('\n', before) + 1 || packet.indexOf('\n', bytesParsed) + 1 || packet.length
  }
  return packet.slice(start, start + MAX_PACKET)
}

function httpErrorOf ({ code, message, reason = message.replace(/^Parse Error: /, '') }: ParserError): FastifyError {
  const cause = new SuspiciousOperationError(message)
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new HeaderOverflowError(`The header section is too large: ${reason}`, { cause })
  }
  if (code === TIMEOUT) return new RequestTimeoutError('The request did not arrive in time.', { cause })
  return new MalformedMessageError(`Malformed HTTP message: ${reason}`, { cause })
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
