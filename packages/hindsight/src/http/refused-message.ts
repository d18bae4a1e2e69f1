import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import createError from '@fastify/error'
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import { attemptCall, withStackLimit } from '../call.js'
import { html, htmlPage } from '../view/text.js'
import { connectionOf, pathOf, percentDecoded } from './requests.js'
import { STATUS_CODES } from './node-http.js'
import { absoluteUrl } from './origin.js'

/** A message that never became a request, or whose body was refused; it is answered on its socket. */
export interface MalformedMessage {
  error: FastifyError
  status: number
  /** `-` where it is unknown. */
  method: string
  /** Absolute; path and query as sent. */
  url: string
  /** The address of the peer; empty on a Unix socket. */
  ip: string
  /** The refused bytes as Latin-1 text of at most 4,096 characters; may be empty. */
  packet: string
}

/** The parts of a refused message that could be parsed. */
export type RefusedRequest = Pick<MalformedMessage, 'method' | 'packet'> & { target: string, host: string | undefined }

/** Octets of the refused message that are recorded. */
export const MAX_PACKET = 4_096
/** Milliseconds that a client has to read the answer while it still sends. */
const LINGER = 1_000

/** Records the open responses of each connection of this process; may be called several times. */
export function trackResponses (): void {
  unsubscribe('http.server.request.start', track)
  subscribe('http.server.request.start', track)
}

function track (message: unknown): void {
  const { socket, response } = message as { socket: Socket, response: ServerResponse }
  const connection = connectionOf(socket)
  connection.responses = [...connection.responses.filter(({ closed }) => !closed), response]
}

/** Answers, logs and records a message, and ends the connection. `current`: its response, if it became a request. */
export function refuseMessage (
  app: FastifyInstance,
  socket: Socket,
  error: FastifyError,
  current: ServerResponse | null,
  { method, target, host = 'localhost', packet }: RefusedRequest
): void {
  connectionOf(socket).isRefused = true
  const { statusCode: status = 400, message } = error
  const { remoteAddress: ip = '' } = socket
  app.log.info({ statusCode: status, remoteAddress: ip, channel: 'request' }, message)
  // In the same turn: Node.js closes the socket of a client that has ended its side.
  endInOrder(socket, current, answerTo(status, message))
  const url = `${'encrypted' in socket ? 'https' : 'http'}://${host}${target}`
  try {
    app.hindsight?.onMalformed?.({ error, status, method, url, ip, packet })
  } catch (err) {
    // Nothing else catches it: it would end the process.
    app.log.error({ err, channel: 'profiler' }, 'A malformed message was not recorded')
  }
}

// As Fastify names them.
const BadUrlError = createError('FST_ERR_BAD_URL', "'%s' is not a valid url component", 400, URIError)
const ParamLengthError =
  createError('FST_ERR_MAX_PARAM_LENGTH', "'%s' is exceeding the max param length", 414, URIError)

/** Records a message that the router of Fastify has refused, and that was answered without a hook. */
export function recordRefused ({ hindsight }: FastifyInstance, raw: IncomingMessage, response: ServerResponse): void {
  const { method = '-', url = '/', httpVersion, rawHeaders } = raw
  const { statusCode: status } = response
  const isUndecodable = percentDecoded(url.replace(/[?#].*$/s, '')) === null
  // A hook that was added before those of Hindsight may have answered.
  if (!isUndecodable && status !== 414) return
  // Its calls would be those of Hindsight.
  const error = withStackLimit(0, () => new (isUndecodable ? BadUrlError : ParamLengthError)(url))
  const headers = rawHeaders.flatMap((name, i) => i % 2 === 0 ? `${name}: ${rawHeaders[i + 1]}` : [])
  const packet = [`${method} ${url} HTTP/${httpVersion}`, ...headers, '', ''].join('\r\n').slice(0, MAX_PACKET)
  attemptCall(() => {
    const origin = hindsight.originOf({ raw } as FastifyRequest)
    hindsight.onMalformed?.({ error, status, method, url: absoluteUrl(origin, pathOf(url)), ip: origin.ip, packet })
  }, (failure) => hindsight.warn('A refused message was not recorded', failure))
}

// RFC 9112, section 9.3.2: responses are sent in the order of their requests.
function endInOrder (socket: Socket, current: ServerResponse | null, answer: string): void {
  const before = connectionOf(socket).responses.findLast(({ closed, req, writableEnded }) =>
    !closed && (req.complete || writableEnded))
  const hasBegun = current?.headersSent === true
  if (before !== undefined) {
    before.once('close', () => endInOrder(socket, current, answer))
  } else if (!socket.writable || (hasBegun && !current.writableEnded)) {
    // An answer would become part of the response that has begun.
    socket.destroy()
  } else {
    // Node.js discards what a handler sends after this.
    socket.end(hasBegun ? '' : answer)
    // A client that still sends would lose its answer if the connection was closed at once (RFC 9112, section 9.6).
    setTimeout(() => socket.destroy(), LINGER).unref()
  }
}

/** The answer to a refused message, as it is written to the socket. */
function answerTo (status: number, message: string): string {
  const title = `${status} ${STATUS_CODES[status] ?? ''}`
  const page = String(htmlPage(title, '', html`<main><h1>${title}</h1><p>${message}</p></main>`))
  return [
    `HTTP/1.1 ${title}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: text/html; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(page)}`,
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    '',
    page
  ].join('\r\n')
}
