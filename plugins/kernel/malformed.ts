import { IncomingMessage, METHODS, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { badRequest, ExpectationFailedError, HeaderOverflowError, MalformedMessageError, RequestTimeoutError, SuspiciousOperationError } from './http-errors.js'
import { framingProblem } from './framing.js'
import { headerText } from './header-text.js'

/** On a raw message: the parser's error, for a request that never was one. */
export const kMalformed = Symbol('hindsight.malformed')
/** On a raw message: why request validation has to refuse it. */
export const kRefused = Symbol('hindsight.refused')
/** On a raw message: the target as the client sent it, where routing was given another. */
export const kTarget = Symbol('hindsight.target')
/** On a raw message: it names no host, and the server lets request validation refuse that. */
export const kHostless = Symbol('hindsight.hostless')
/** On a raw message: a method that overrides the real one and that Node.js does not know. */
export const kUnknownMethod = Symbol('hindsight.unknownMethod')
/** On a raw message: the parser refused it, and saw it from its beginning. */
export const kWhole = Symbol('hindsight.whole')
/** On a raw message: the octets that the parser refused, as text. */
export const kRawPacket = Symbol('hindsight.rawPacket')

declare module 'node:http' {
  interface IncomingMessage {
    [kMalformed]?: Error
    [kRefused]?: Error
    [kTarget]?: string
    [kHostless]?: true
    [kUnknownMethod]?: string
    [kRawPacket]?: string
    [kWhole]?: boolean
  }
}

const kReply = Symbol('hindsight.reply')
const kEnding = Symbol('hindsight.ending')
type Connection = Socket & { [kReply]?: ServerResponse, [kEnding]?: boolean }

/** Where a request is routed to when its own target cannot be: no application declares it. */
const NOWHERE = '/.hindsight-unroutable'
const RAW_PACKET_LIMIT = 4096
/** Milliseconds that a client has for reading its answer while it still sends. */
const LINGER = 1_000

/**
 * The server options that let malformed messages walk the lifecycle too: they are Fastify's, given when the
 * server is made (`npm start` does; fastify-cli does with `--options`).
 */
export function messageOptions ({ methodOverride = true }: { methodOverride?: boolean } = {}): FastifyServerOptions {
  return {
    rewriteUrl (message) {
      return target(message as IncomingMessage, methodOverride)
    },
    // What the router refuses on its own (a parameter that is too long) goes round once more, to be refused by request validation.
    frameworkErrors (error, request, reply) {
      const { raw } = request
      raw[kRefused] ??= error
      raw[kTarget] ??= raw.url ?? ''
      raw.url = NOWHERE
      request.server.routing(raw, reply.raw)
    },
    clientErrorHandler (error, socket) {
      answerMalformed(this as unknown as FastifyInstance, error as unknown as ParserError, socket as Connection)
    }
  } as FastifyServerOptions
}

/** The method that a request is about: the one that overrides another, and one that the parser refused, are told as they came. */
export function methodOf ({ raw, method }: { raw: IncomingMessage, method: string }): string {
  return raw[kUnknownMethod] ?? method
}

/** Remembers which response a connection is about, so that a body which turns out malformed fails its own request. */
export function rememberReply (message: IncomingMessage, response: ServerResponse): void {
  if (message.socket) (message.socket as Connection)[kReply] = response
}

/** What a connection is about: nothing yet, a request whose response is not yet over, or nothing any more. */
export function stageOf (socket: Socket): 'new' | 'working' | 'idle' {
  const response = (socket as Connection)[kReply]
  if (response === undefined) return 'new'
  return response.destroyed || response.writableFinished ? 'idle' : 'working'
}

/** Ends our side of a connection, and goes on reading for a while: to close what is still sent to would cost the client its answer (RFC 9112, section 9.6). */
export function endGently (socket: Socket): void {
  (socket as Connection)[kEnding] = true
  socket.end()
  setTimeout(() => socket.destroy(), LINGER).unref()
}

function target (message: IncomingMessage, methodOverride: boolean): string {
  const url = message.url ?? '/'
  if (url === NOWHERE) return url
  if (message.headers.host === undefined) message[kHostless] = true
  const framing = framingProblem(message)
  if (framing !== null) {
    message[kTarget] = url
    message[kRefused] = framing
    return NOWHERE
  }
  if (methodOverride && message.method === 'POST') overrideMethod(message)
  const problem = undecodable(url)
  if (message[kUnknownMethod] === undefined && problem === null) {
    // RFC 9112, section 3.2.2: a server accepts the absolute form; section 3.2.4: `*` is about the server as a whole.
    return url.charCodeAt(0) === 47 /* / */ ? url : pathOf(url)
  }
  message[kTarget] = url
  if (problem !== null) message[kRefused] = badRequest(problem)
  return NOWHERE
}

/** The path and query of a request target in whatever form it came (RFC 9112, section 3.2). */
export function pathOf (url: string): string {
  if (url.charCodeAt(0) === 47 /* / */) return url
  if (url === '*') return '/*'
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

function overrideMethod (message: IncomingMessage): void {
  const query = message.url?.indexOf('?') ?? -1
  const wanted = message.headers['x-http-method-override'] ??
    (query === -1 ? undefined : new URLSearchParams(message.url?.slice(query)).get('_method'))
  if (typeof wanted !== 'string' || wanted === '') return
  const method = wanted.toUpperCase()
  if (!/^[A-Z]+$/.test(method)) message[kRefused] = badRequest('Invalid HTTP method override.')
  // Whoever sent a POST reads as many octets as the answer announces: that to HEAD has none, and the next answer would be taken for them.
  else if (method === 'HEAD') message[kRefused] = badRequest('Invalid HTTP method override: a POST is answered with a body, HEAD without one.')
  else if (METHODS.includes(method) && method !== 'CONNECT') message.method = method
  else message[kUnknownMethod] = method
}

function undecodable (url: string): string | null {
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

interface ParserError extends Error {
  code?: string
  reason?: string
  rawPacket?: Buffer
  bytesParsed?: number
}

// A message that the parser refused is answered by walking the lifecycle with a synthetic one on the same connection.
function answerMalformed (app: FastifyInstance, error: ParserError, socket: Connection): void {
  // What follows the part that was answered is read and dropped.
  if (socket[kEnding] === true && error.code !== 'ECONNRESET') return
  // Who has connected and said nothing has asked for nothing: browsers do so in advance.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0) {
    socket.destroy()
    return
  }
  const raised = malformedError(error)
  const current = socket[kReply]
  // Written is not over: until the connection is handed back, it belongs to the response ahead.
  if (current !== undefined && !current.destroyed && !(current.writableFinished && current.socket === null)) {
    const { req } = current
    if (!req.complete && req.listenerCount('error') > 0 && !current.headersSent) {
      current.shouldKeepAlive = false
      req.emit('error', raised)
      return
    }
    if (req.complete) {
      current.once('finish', () => dispatchSynthetic(app, raised, error, socket))
      return
    }
    current.once('close', () => socket.destroy())
    if (current.writableEnded) socket.end()
    return
  }
  // The rest of a body that nobody waits for: its request was answered, and another answer would be taken for that of the next.
  if (current !== undefined && !current.req.complete) {
    socket.destroy()
    return
  }
  dispatchSynthetic(app, raised, error, socket)
}

// Behind other messages in one packet: what was refused begins after the last header section that came to its end.
function refusedPart ({ rawPacket = Buffer.alloc(0), bytesParsed = 0 }: ParserError): string {
  const end = rawPacket.lastIndexOf('\r\n\r\n', Math.max(0, bytesParsed - 1))
  const start = end === -1 || end + 4 > bytesParsed ? 0 : end + 4
  return rawPacket.subarray(start, start + RAW_PACKET_LIMIT).toString('latin1')
}

// Only a whole line of the header section counts: neither one that an earlier packet may have begun, nor what a body says.
function hostIn (packet: string): string | undefined {
  const end = packet.search(/\r?\n\r?\n/)
  return /\nhost:[ \t]*([^\r\n]*)\r?\n/i.exec(end === -1 ? packet : packet.slice(0, end + 2))?.[1]
}

function dispatchSynthetic (app: FastifyInstance, raised: Error, error: ParserError, socket: Connection): void {
  if (!socket.writable) return
  const packet = refusedPart(error)
  const [, method, sent] = /^([A-Za-z-]{1,32}) (\S{1,2048})/.exec(packet) ?? []
  const message = new IncomingMessage(socket)
  message.method = method !== undefined && METHODS.includes(method) ? method : 'GET'
  if (method !== undefined && method !== message.method) message[kUnknownMethod] = method
  message.url = NOWHERE
  message.httpVersionMajor = 1
  message.httpVersionMinor = 1
  message.httpVersion = '1.1'
  message.complete = true
  // What a page can make a browser send is refused for its size or its slowness only.
  message[kWhole] = error.code?.startsWith('HPE_') === true && error.code !== 'HPE_HEADER_OVERFLOW' &&
    socket.bytesRead === error.rawPacket?.length
  const host = hostIn(packet)
  if (host !== undefined) message.headers.host = host.trim()
  const accept = /^accept:[ \t]*([^\r\n]*)/im.exec(packet)?.[1]
  if (accept !== undefined) message.headers.accept = accept.trim()
  message.push(null)
  message[kMalformed] = raised
  message[kTarget] = sent ?? '/'
  message[kRawPacket] = packet
  try {
    app.routing(message, lastResponse(message, socket))
  } catch (failure) {
    app.log.error({ err: failure }, 'A malformed message could not be answered')
    socket.destroy()
  }
}

/**
 * Lets those messages walk the lifecycle that Node.js would answer or drop by itself:
 * CONNECT, which no origin server has to know, and expectations other than `100-continue` (RFC 9110, sections 9.3.6 and 10.1.1),
 * which Node.js takes for met where the word is anywhere in them.
 */
export function adoptMessages (app: FastifyInstance): void {
  app.server.on('connect', (message, socket) => {
    // Node.js has taken its own listeners off the connection: a reset that nobody hears of would end the process.
    socket.on('error', () => socket.destroy())
    socket.resume()
    app.routing(message, lastResponse(message, socket as Socket))
  })
  app.server.on('checkExpectation', refuse)
  app.server.on('checkContinue', (message, response) => {
    if (message.headers.expect?.toLowerCase() !== '100-continue') return refuse(message, response)
    response.writeContinue()
    app.server.emit('request', message, response)
  })

  function refuse (message: IncomingMessage, response: ServerResponse): void {
    message[kRefused] = new ExpectationFailedError(`The expectation "${headerText(message.headers.expect ?? '')}" cannot be met: only 100-continue can.`)
    app.routing(message, response)
  }
}

function lastResponse (message: IncomingMessage, socket: Socket): ServerResponse {
  const response = new ServerResponse(message)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => {
    response.detachSocket(socket)
    endGently(socket)
  })
  return response
}

function malformedError (error: ParserError): Error {
  const detail = error.reason ?? error.message.replace(/^Parse Error: /, '')
  const cause = new SuspiciousOperationError(error.message)
  if (error.code === 'HPE_HEADER_OVERFLOW') return new HeaderOverflowError(`The header section is too large: ${detail}`, { cause })
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return new RequestTimeoutError('The request did not arrive in time.', { cause })
  return new MalformedMessageError(`Malformed HTTP message: ${detail}`, { cause })
}
