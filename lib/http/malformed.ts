import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import { framingProblem, markLast } from './framing.js'
import { headerText } from './header-text.js'
import {
  badRequest, ExpectationFailedError, HeaderOverflowError, httpError, MalformedMessageError, RequestTimeoutError,
  SuspiciousOperationError
} from './http-errors.js'
import { kUnknownMethod, methodOf, overrideMethod } from './method-override.js'
import { isRefused, refuse, responsesOf, trackResponses, type Sent } from './refused-message.js'

/** On a raw message: why request validation has to refuse it. */
export const kRefused = Symbol('hindsight.refused')
/** On a raw message: the target as the client sent it, where routing was given another. */
export const kTarget = Symbol('hindsight.target')
/** On a raw message: it names no host, and the server lets request validation refuse that. */
export const kHostless = Symbol('hindsight.hostless')

declare module 'node:http' {
  interface IncomingMessage {
    [kRefused]?: Error
    [kTarget]?: string
    [kHostless]?: true
  }
}

/** `CONNECT`, which no origin server has to implement (RFC 9110, section 9.3.6). */
class NotImplementedError extends httpError('NotImplementedError', 'HINDSIGHT_NOT_IMPLEMENTED', 501) {}

/** The target that routing is given instead of one that it could not handle: no application declares it. */
const NOWHERE = '/.hindsight-unroutable'
const PACKET_LIMIT = 4096
/** How many requests of one connection may wait for their responses: Node.js parses all that came in one packet. */
const MAX_PIPELINED = 32
const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'
const REQUEST_LINE = /^([A-Za-z-]{1,32}) (\S+)(?= HTTP\/|\r?\n|$)/

export interface MessageOptions {
  /**
   * Whether `X-HTTP-Method-Override` or the query parameter `_method` of a POST gives it another method, in `full`
   * mode; refused with 400 where the request comes from another origin. Default: false.
   */
  methodOverride?: boolean
}

/**
 * The server options that make malformed messages explained errors. They have to be given when the Fastify instance is
 * created (`npm start` does so, and fastify-cli with `--options`). Without the plugin, and in `observe` mode, they only
 * change how the messages that the parser refuses are answered.
 */
export function messageOptions ({ methodOverride = false }: MessageOptions = {}): FastifyServerOptions {
  if (typeof methodOverride !== 'boolean') throw new TypeError('methodOverride must be true or false')
  trackResponses()
  return {
    rewriteUrl (message) {
      return isFull(this) ? target(this, message as IncomingMessage, methodOverride) : message.url ?? '/'
    },
    frameworkErrors (error, request, reply) {
      if (!isFull(request.server)) return answerAsFastify(error, reply)
      // What the router refuses (a parameter that is too long) is routed again: request validation refuses it.
      const { raw } = request
      raw[kRefused] ??= error
      raw[kTarget] ??= raw.url ?? ''
      raw.url = NOWHERE
      request.server.routing(raw, reply.raw)
    },
    clientErrorHandler (error, socket) {
      answerMalformed(this as unknown as FastifyInstance, error as unknown as ParserError, socket)
    }
  } as FastifyServerOptions
}

// What Fastify answers without the option `frameworkErrors`.
function answerAsFastify ({ code, message, statusCode = 400 }: FastifyError, reply: FastifyReply): void {
  const body = JSON.stringify({ error: 'Bad Request', code, message, statusCode })
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  reply.hijack().raw.writeHead(statusCode, headers).end(body)
}

function isFull (app: FastifyInstance): boolean {
  return app.hasDecorator('hindsight') && app.hindsight.mode === 'full'
}

function target (app: FastifyInstance, message: IncomingMessage, methodOverride: boolean): string {
  const url = message.url ?? '/'
  if (url === NOWHERE) return url
  if (message.headers.host === undefined) message[kHostless] = true
  const problem = framingProblem(message) ?? pipeliningProblem(message) ??
    (methodOverride ? overrideMethod(message, () => app.hindsight.originOf({ raw: message } as FastifyRequest)) : null)
  if (problem !== null) {
    message[kTarget] = url
    message[kRefused] = problem
    return NOWHERE
  }
  const undecodable = decodingProblem(url)
  if (message[kUnknownMethod] === undefined && undecodable === null) {
    // RFC 9112, section 3.2.2: a server accepts the absolute form; section 3.2.4: `*` is about the server as a whole.
    return pathOf(url)
  }
  message[kTarget] = url
  if (undecodable !== null) message[kRefused] = badRequest(undecodable)
  return NOWHERE
}

/** The path and query of a request target of any form (RFC 9112, section 3.2). */
export function pathOf (url: string): string {
  if (url.charCodeAt(0) === 47 /* / */) return url
  if (url === '*') return '/*'
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

function decodingProblem (url: string): string | null {
  if (/[^\x00-\x7f]/.test(url)) return `Invalid URL "${headerText(url)}": what is not US-ASCII must be percent-encoded.`
  if (!url.includes('%')) return null
  const end = url.search(/[?#]/)
  try {
    decodeURIComponent(end === -1 ? url : url.slice(0, end))
    return null
  } catch {
    return `Invalid URL "${url}": its percent-encoding cannot be decoded as UTF-8.`
  }
}

function pipeliningProblem (message: IncomingMessage): Error | null {
  if (responsesOf(message.socket).length <= MAX_PIPELINED) return null
  markLast(message)
  return badRequest(`More than ${MAX_PIPELINED} requests of this connection wait for their responses.`)
}

interface ParserError extends Error {
  code?: string
  reason?: string
  rawPacket?: Buffer
  bytesParsed?: number
}

function answerMalformed (app: FastifyInstance, error: ParserError, socket: Socket): void {
  const newest = responsesOf(socket).at(-1)
  const current = newest === undefined || newest.req.complete ? null : newest
  // A client that has gone before the end of a body: the profile of its request says so.
  const isGone = error.code === 'HPE_INVALID_EOF_STATE' && current !== null
  const isRefusal = error.code === TIMEOUT || (error.code?.startsWith('HPE_') === true && !isGone)
  if (isRefusal && isRefused(socket)) return
  // Browsers open connections in advance: one that has sent nothing is not answered.
  if (!isRefusal || !socket.writable || socket.bytesRead === 0) {
    socket.destroy()
    return
  }
  const packet = refusedPart(error, socket, current !== null)
  refuse(app, socket, errorOf(error), current, current === null ? sentIn(packet) : sentBy(current.req, packet))
}

/**
 * Answers those messages that Node.js would answer or drop on its own: `CONNECT`, and expectations other than
 * `100-continue` (RFC 9110, section 10.1.1), which Node.js takes for met where the word is anywhere in them.
 */
export function adoptMessages (app: FastifyInstance): void {
  trackResponses()
  app.server.on('connect', (message, stream) => {
    const socket = stream as Socket
    // Node.js has removed its own listeners: an error without a listener would end the process.
    socket.on('error', () => socket.destroy()).resume()
    const error = new NotImplementedError('The method CONNECT is not implemented.')
    refuse(app, socket, error, null, sentBy(message, `CONNECT ${message.url} HTTP/${message.httpVersion}\r\n`))
  })
  app.server.on('checkExpectation', refuseExpectation)
  app.server.on('checkContinue', (message, response) => {
    if (message.headers.expect?.toLowerCase() !== '100-continue') return refuseExpectation(message, response)
    response.writeContinue()
    app.server.emit('request', message, response)
  })

  function refuseExpectation (message: IncomingMessage, response: ServerResponse): void {
    const expected = headerText(message.headers.expect ?? '')
    const why = `The expectation "${expected}" cannot be met: only 100-continue can.`
    message[kRefused] = new ExpectationFailedError(why)
    app.routing(message, response)
  }
}

function sentBy (message: IncomingMessage, packet: string): Sent {
  const { method = '-', url = '/', headers: { host, accept } } = message
  return { method: methodOf({ raw: message, method }), target: pathOf(message[kTarget] ?? url), host, accept, packet }
}

function sentIn (packet: string): Sent {
  const [, method = '-', target = '/'] = REQUEST_LINE.exec(packet) ?? []
  const [section = ''] = packet.split(/\r?\n\r?\n/, 1)
  const [host, accept] = [headerIn(section, 'host'), headerIn(section, 'accept')]
  return { method, target: pathOf(target), host, accept, packet }
}

// Not on the first line, which may continue one of an earlier packet.
function headerIn (section: string, name: string): string | undefined {
  return new RegExp(`\\n${name}:[ \\t]*([^\\r\\n]*)`, 'i').exec(section)?.[1]?.trimEnd()
}

function refusedPart (error: ParserError, socket: Socket, isBody: boolean): string {
  const { rawPacket = Buffer.alloc(0), bytesParsed = 0 } = error
  const before = Math.max(0, bytesParsed - 1)
  // A packet may have other messages before the one that was refused.
  const end = rawPacket.lastIndexOf('\r\n\r\n', before)
  let start = end === -1 || end + 4 > bytesParsed ? 0 : end + 4
  const isFirst = socket.bytesRead === rawPacket.length
  if (start === 0 && !isFirst && !REQUEST_LINE.test(rawPacket.toString('latin1'))) {
    // The first line may continue a secret of an earlier packet, where no name marks it: it is left out.
    const line = rawPacket.lastIndexOf('\n', before) + 1
    start = line > 0 ? line : isBody ? bytesParsed : rawPacket.indexOf('\n', bytesParsed) + 1 || rawPacket.length
  }
  return rawPacket.toString('latin1', start, start + PACKET_LIMIT)
}

function errorOf (error: ParserError): FastifyError {
  const detail = error.reason ?? error.message.replace(/^Parse Error: /, '')
  const cause = new SuspiciousOperationError(error.message)
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return new HeaderOverflowError(`The header section is too large: ${detail}`, { cause })
  }
  if (error.code === TIMEOUT) return new RequestTimeoutError('The request did not arrive in time.', { cause })
  return new MalformedMessageError(`Malformed HTTP message: ${detail}`, { cause })
}
