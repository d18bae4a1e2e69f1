import { errorMonitor } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { finished, Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ClientGoneError, NoResponseError } from '../http/http-errors.js'
import { read } from '../errors/thrown-value.js'
import { STATUS_CODES } from '../http/node-http.js'
import { connectionOf } from '../http/requests.js'
import { isEndless, isResponse, isStream, isUpgraded } from '../http/responses.js'
import { recordingOf } from '../lifecycle/state.js'
import { withStackLimit } from '../call.js'
import type { Ending } from './recording.js'

function watchTimeout (socket: Socket): void {
  const connection = connectionOf(socket)
  // One for all requests of a connection: a client may send many at once. A listener of the socket itself does not keep
  // Node.js from closing it (`server.timeout`).
  if (connection.isTimedOut === undefined) socket.on('timeout', () => { connection.isTimedOut = true })
  connection.isTimedOut = false
}

/**
 * Watches the response of a request. `onEnd` is called once, with how it ended. Returns the function that watches a
 * body: it is called with each payload that is about to be sent.
 */
export function watchEnding (
  request: FastifyRequest, reply: FastifyReply, onEnd: (ending: Ending) => void
): (payload: unknown) => void {
  const { raw } = reply
  /** The error of the body, where it is a stream that failed, or of the response itself. */
  let sendError: unknown
  let isOver = false
  /** Whether the connection was closed before the response, as by the parser for what the client sent next. */
  let wasClosed = false
  const end = (ending: Ending): void => {
    if (isOver) return
    isOver = true
    onEnd(ending)
  }
  const socket = socketOf(request)
  // A pipelined response has no socket yet: the bytes of earlier ones are written first.
  const before = raw.socket === null ? undefined : socket?.bytesWritten
  if (socket !== null) watchTimeout(socket)
  // With HTTP/2, `finish` is also emitted for a response that was cut off.
  raw.once('finish', () => { if (raw.writableEnded) end({ kind: 'sent', begun: true }) })
  // The calls of this event are those of Node.js and Hindsight: they have no reason for its errors.
  raw.once('close', () => { if (!isOver) end(withStackLimit(0, ending)) })
  const ending = (): Ending => endingOf(request, reply, sendError, wasClosed ? socket?.bytesWritten : before)
  const noteError = (error: unknown): void => { sendError ??= error }
  raw.once(errorMonitor, noteError)
  // Before the headers, Fastify sends an error instead.
  return (payload) => {
    wasClosed ||= socket?.destroyed === true
    recordingOf(request).streamed = isStream(payload) ? String(read(read(payload, 'constructor'), 'name')) : undefined
    watchBody(payload, (error) => { if (raw.headersSent) noteError(error) })
  }
}

/** The status that describes an ending: what was sent; 101, 499 or 444 where Fastify has sent no response. */
export function statusOfEnding (ending: Ending | undefined, reply: FastifyReply): number {
  if (ending === undefined || ending.begun) return reply.raw.headersSent ? sentStatus(reply) : reply.statusCode
  return { upgraded: 101, gone: 499, failed: 444 }[ending.kind]
}

/** The status that was sent: a second response changes the status of the raw response, but not its message. */
function sentStatus ({ raw, request }: FastifyReply): number {
  // With HTTP/2, Node.js warns when a message is read.
  const sent = streamOf(request)?.sentHeaders?.[':status']
  if (sent !== undefined) return Number(sent)
  const { statusCode, statusMessage } = raw
  // A failed `writeHead` has set the message of another status.
  if (recordingOf(request).failure !== null || STATUS_CODES[statusCode] === statusMessage) return statusCode
  const [ofMessage] = Object.entries(STATUS_CODES).find(([, message]) => message === statusMessage) ?? []
  return Number(ofMessage ?? statusCode)
}

/** `before`: the bytes that were written to the socket before the response. */
function endingOf (request: FastifyRequest, reply: FastifyReply, sendError: unknown, before?: number): Ending {
  const { raw } = reply
  const socket = socketOf(request)
  const bytes = socket === null || before === undefined ? undefined : socket.bytesWritten - before
  // Node.js drops what it has not written when the connection is closed for an error.
  const begun = raw.headersSent && bytes !== 0
  if (isUpgraded(request, reply)) return { kind: 'upgraded', begun: false }
  const failed = (error: unknown): Ending => ({ kind: 'failed', begun, error, bytes })
  const cause = sendError ?? raw.errored ?? streamOf(request)?.errored
  if (cause != null && !isConnectionError(cause)) return failed(cause)
  const refusal = refusalBy(socket?.errored)
  if (refusal !== null) return failed(new NoResponseError(`The server closed the connection: ${refusal}`))
  if (socket !== null && connectionOf(socket).isTimedOut === true) {
    return failed(new NoResponseError('The server closed the idle connection (connectionTimeout)'))
  }
  if (!isClosedByClient(request)) return failed(new NoResponseError(`The server closed the connection ${when(begun)}`))
  if (isEndless(request, reply)) return { kind: 'sent', begun: true }
  return { kind: 'gone', begun, error: new ClientGoneError(`The client closed the connection ${when(begun)}`) }
}

/** Why Node.js has refused what was received on a connection; null where it has not. */
function refusalBy (error: unknown): string | null {
  const code = String(read(error, 'code'))
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'the request was not complete in time (requestTimeout)'
  // The client has closed the connection within a message.
  const isRefusal = code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE'
  return isRefusal ? `the client sent what is not HTTP (${code})` : null
}

function when (begun: boolean): string {
  return begun ? 'before the response was complete' : 'before the response was sent'
}

/** Whether the client has closed the connection, or reset the stream (RFC 9113, section 5.4.2). */
function isClosedByClient (request: FastifyRequest): boolean {
  const stream = streamOf(request)
  if (stream !== undefined) return stream.aborted && stream.rstCode !== 0
  const socket = socketOf(request)
  return socket !== null && (socket.readableEnded || isConnectionError(socket.errored))
}

/** Whether an error was raised by the system, the parser or TLS because of the other side: not by the application. */
export function isConnectionError (error: unknown): boolean {
  const { code, syscall } = Object(error) as { code?: unknown, syscall?: unknown }
  return typeof syscall === 'string' || /^(?:ECONNRESET|EPIPE|HPE_|ERR_SSL_)/.test(String(code))
}

/** Whether Node.js has refused to write the headers of a response a second time. */
export function isHeadersSent (error: unknown): boolean {
  return /^ERR_HTTP2?_HEADERS_SENT$/.test(String(read(error, 'code')))
}

/** The stream of a request of HTTP/2. */
function streamOf ({ raw }: FastifyRequest): ServerHttp2Stream | undefined {
  return (raw as { stream?: ServerHttp2Stream }).stream
}

/** The socket of a request of HTTP/1; null for HTTP/2, and where a request was injected. */
function socketOf (request: FastifyRequest): Socket | null {
  const { socket } = request.raw
  return streamOf(request) === undefined && typeof socket?.off === 'function' ? socket : null
}

/** Calls `onError` with the error of a body that is a stream: of Node.js, of the web, or of a `Response`. */
function watchBody (payload: unknown, onError: (error: unknown) => void): void {
  if (payload instanceof Readable) {
    payload.once(errorMonitor, onError)
    return
  }
  const body = isResponse(payload) ? payload.body : payload
  if (!(body instanceof ReadableStream)) return
  finished(body as never, (error) => { if (error != null) onError(error) })
}
