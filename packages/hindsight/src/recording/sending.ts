import { errorMonitor } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { finished, Readable } from 'node:stream'
import createError from '@fastify/error'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { callsBefore, withStackLimit } from '../call.js'
import { classOf, codeOf } from '../errors/thrown-value.js'
import { ClientGoneError, NoResponseError, type ProcessExitError } from '../http/http-errors.js'
import { STATUS_CODES } from '../http/node-http.js'
import { connectionOf } from '../http/requests.js'
import { hasNoBody, isEndless, isResponse, isStream, isUpgraded } from '../http/responses.js'
import { sentHeadersOf, type Headers } from './events.js'
import type { RecordedFunction } from './event-recorder.js'

/** Calls of a stack that are kept. */
const MAX_CALLS = 50
/** For each response: it is read only where a second one is sent. */
const MAX_SENT = 20
const ALREADY_SENT = 'FST_ERR_REP_ALREADY_SENT'

/**
 * How the response of a request ended. `begun`: whether its status and headers were on the socket.
 *
 * - `sent`: it is complete, or an event stream that its client has closed.
 * - `replaced`: it is complete, and another one is lost, which had begun before: `lost`.
 * - `upgraded`: the connection is used for another protocol (RFC 9110, section 7.8), and has been closed.
 * - `gone`: the client closed the connection before the response was complete.
 * - `failed`: the server closed it, or the process exited: `error` is why; `bytes` were sent with the headers, where
 *   that is known.
 */
export type Ending =
  | { kind: 'sent', begun: true }
  | { kind: 'replaced', begun: true, lost: LostResponse }
  | { kind: 'upgraded', begun: false }
  | { kind: 'gone' | 'failed', begun: boolean, error: unknown, bytes?: number | undefined }

/**
 * How the response of a request is sent.
 *
 * - `none`: no response has begun to pass the hooks.
 * - `hijacked`: the application writes to the raw response itself.
 * - `passing`: a response passes the hooks; its headers are not on the socket.
 * - `begun`: its headers are on the socket.
 * - `twice`: a second one began to pass the hooks, although the first had not failed. `again` is the error about that.
 */
export type Sending =
  | { kind: 'none' | 'hijacked' | 'passing' | 'begun' }
  | { kind: 'twice', again: Error }
  | Ending

/**
 * A response whose place another one has taken: what it was, the calls that sent it, where they are known, and those
 * that sent the other one. `isEmpty`: the other one has no payload.
 */
export interface LostResponse { what: string, from: Error | undefined, second: Error, isEmpty: boolean }

/** An `onSend` hook that has failed. `first`: its first error, where it has failed for several responses. */
interface FailedHook { hook: RecordedFunction, error: unknown, first: unknown }

/** The error that Fastify logs for a second response, which it does not recognize while hooks of the first one run. */
const AlreadySentError = createError(
  ALREADY_SENT, 'Reply was already sent, did you forget to "return reply" in "%s" (%s)?'
)

/**
 * Follows the response of a request from its first hook to the socket. It is the only writer of how the response is
 * sent, and all others read it. What an application calls twice is a second response only if the first one was sent:
 * the raw response and its socket decide.
 */
export class SendingRecord {
  /** A stack of the call that sent the first response, where the request is recorded. */
  from: Error | undefined
  #reply: FastifyReply | null = null
  /** How many responses began to pass the hooks, and how many have passed those of the application. */
  #begun = 0
  #passed = 0
  /** What the first one was, where it had a payload. */
  #what: string | undefined
  /** The calls that sent the second one. */
  #second: Error | undefined
  #lost: LostResponse | undefined
  /** Whether the first one is that of the error handler of a lifecycle. */
  #isAnswer = false
  #again: Error | undefined
  #stream: string | undefined
  #changedBy: RecordedFunction | undefined
  #failedHook: FailedHook | undefined
  #isReplaceable = false
  #answersUncaught = false
  #ending: Ending | undefined
  #end: (ending: Ending) => void = () => {}
  #sentHeaders: Headers | undefined
  #sentStatus: number | undefined
  /** The error of the body, where it is a stream that failed, or of the response itself. */
  #sendError: unknown
  #socket: Socket | null = null
  /** The bytes that were written to the socket before the response; undefined where that is unknown. */
  #bytesBefore: number | undefined
  #bytes: number | undefined
  /** Whether the connection was closed before the response, as by the parser for what the client sent next. */
  #wasClosed = false

  get state (): Sending {
    if (this.#ending !== undefined) return this.#ending
    if (this.#again !== undefined) return { kind: 'twice', again: this.#again }
    if (!this.hasResponse) return { kind: this.#reply?.sent === true ? 'hijacked' : 'none' }
    return { kind: this.#reply?.raw.headersSent === true ? 'begun' : 'passing' }
  }

  /** Whether it has ended. */
  get isOver (): boolean {
    return this.#ending !== undefined
  }

  /** Whether a response began to pass the hooks. */
  get hasResponse (): boolean {
    return this.#begun > 0 || this.#passed > 0
  }

  /** The error of a second response, also after the end. */
  get again (): Error | undefined {
    return this.#again
  }

  /** The class of the body of the last response, where that is a stream. */
  get stream (): string | undefined {
    return this.#stream
  }

  /** The hook of the application that has replaced the payload; undefined where none has. */
  get changedBy (): RecordedFunction | undefined {
    return this.#changedBy
  }

  /** Whether the response that begins follows one of the error handler of a lifecycle. */
  get followsAnswer (): boolean {
    return this.#isAnswer && this.#begun > 1
  }

  /** The `onSend` hook of the application that has failed last; undefined where none has. */
  get failedHook (): FailedHook | undefined {
    return this.#failedHook
  }

  /**
   * Whether the diagnostic page may replace the response that has passed the hooks: the first one, or the error that
   * Fastify sends when the stream of the first one fails. Where a hook of the application has failed, Fastify's
   * response about it is kept.
   */
  get isReplaceable (): boolean {
    return this.#isReplaceable
  }

  /** Whether the application has written the response itself. */
  get isHijacked (): boolean {
    return !this.hasResponse && this.#reply?.sent === true && this.wasSent
  }

  /** Whether the client has closed the connection, also of a response that has no end of its own. */
  get isClosedByClient (): boolean {
    const reply = this.#reply
    return this.isOver && reply?.raw.writableEnded === false && isClosedByClient(reply.request)
  }

  /** Whether the connection was closed before the end of the response, and not by the client. */
  get isCutOff (): boolean {
    return this.isOver && this.#reply?.raw.writableEnded === false && !this.isClosedByClient
  }

  /** The bytes of the response on the socket, with its headers; undefined where that is unknown. */
  get bytes (): number | undefined {
    return this.#bytes
  }

  /** The headers as they were sent; before that, as they are. */
  get headers (): Headers {
    return this.#sentHeaders ?? (this.#reply?.getHeaders() ?? {}) as Headers
  }

  /** The status of the reply when the response ended; before that, as it is. */
  get replyStatus (): number {
    return this.#sentStatus ?? this.#reply?.statusCode ?? 0
  }

  /** Whether its headers are on the socket, or were. */
  get wasSent (): boolean {
    return this.#ending?.begun ?? this.#reply?.raw.headersSent === true
  }

  /** The status that describes the response: what was sent; 101, 499 or 0 where Fastify has sent none. */
  status (hasFailed: boolean): number {
    const ending = this.#ending
    if (ending !== undefined && !ending.begun) return { upgraded: 101, gone: 499, failed: 0 }[ending.kind]
    const reply = this.#reply
    if (reply?.raw.headersSent !== true) return reply?.statusCode ?? 0
    return statusOnSocket(reply, hasFailed)
  }

  /** Watches the response of a request. `onEnd` is called once, when it has ended. */
  watch (reply: FastifyReply, onEnd: (ending: Ending) => void): void {
    const { raw, request } = reply
    this.#reply = reply
    const socket = socketOf(request)
    this.#socket = socket
    // A pipelined response has no socket yet: the bytes of earlier ones are written first.
    this.#bytesBefore = raw.socket === null ? undefined : socket?.bytesWritten
    if (socket !== null) watchTimeout(socket)
    const end = this.#end = (ending: Ending): void => {
      this.#ending = ending
      if (socket !== null && this.#bytesBefore !== undefined) this.#bytes = socket.bytesWritten - this.#bytesBefore
      onEnd(ending)
    }
    // With HTTP/2, `finish` is also emitted for a response that was cut off.
    raw.once('finish', () => {
      if (!raw.writableEnded || this.#ending !== undefined) return
      end(this.#complete())
    })
    // The calls of this event are those of Node.js and Hindsight: they have no reason for its errors.
    raw.once('close', () => { if (this.#ending === undefined) end(withStackLimit(0, () => this.#endingOf(reply))) })
    raw.once(errorMonitor, (error) => { this.#sendError ??= error })
  }

  /**
   * A response begins to pass the hooks: `what` is its payload, if it has one. It is a second one where the first has
   * not failed. `isRecorded`: with the line that has sent it.
   */
  begin (reply: FastifyReply, what: string | undefined, hasFailed: boolean, isRecorded: boolean): void {
    if (this.#begun > 0 && !hasFailed) {
      this.repeat(reply.request)
      this.#second = callsBefore(reply.send, MAX_SENT)
    }
    if (this.#begun === 0) this.#what = what
    // The hook runs in the stack of `reply.send`, unless a hook before it was asynchronous.
    if (isRecorded) this.from ??= callsBefore(reply.send, MAX_SENT)
    this.#begun++
    this.#changedBy = undefined
  }

  /** A payload is about to be serialized. */
  serialize (): void {
    this.#changedBy = undefined
  }

  /** A hook of the application has replaced the payload. */
  replace (hook: RecordedFunction): void {
    this.#changedBy = hook
  }

  /** An `onSend` hook of the application has failed. */
  failHook (hook: RecordedFunction, error: unknown): void {
    const before = this.#failedHook
    const first = before?.hook === hook ? before.first : error
    this.#failedHook = { hook, error, first }
  }

  /** A response has passed the hooks of the application. */
  pass (payload: unknown): void {
    const wasStream = this.#stream !== undefined
    this.#passed++
    this.#replace(payload, wasStream)
    this.#isReplaceable = this.#failedHook === undefined && (this.#passed === 1 || wasStream)
    this.#wasClosed ||= this.#socket?.destroyed === true
    this.#stream = isStream(payload) ? classOf(payload) : undefined
    // Before the headers, Fastify sends an error instead.
    watchBody(payload, (error) => { if (this.#reply?.raw.headersSent === true) this.#sendError ??= error })
  }

  /** Notes that a second response is written before the first one, which is a stream or still passes the hooks. */
  #replace (payload: unknown, wasStream: boolean): void {
    const [reply, what, second] = [this.#reply, this.#what, this.#second]
    if (reply === null || what === undefined || second === undefined) return
    if (hasNoBody(reply.request, reply.statusCode)) return
    // Only the second one may be without a payload. A text is the second one where the first has passed.
    const isEmpty = payload === undefined
    const isSecond = isEmpty || (wasStream && this.#passed === 2 && this.#begun === 2 && !isStream(payload))
    if (!isSecond || reply.raw.headersSent) return
    this.#lost ??= { what, from: this.from, second, isEmpty }
    this.from = second
    this.#again = undefined
  }

  /** Hindsight refuses the response: the one about that is the first. */
  restart (): void {
    this.#begun = this.#passed = 0
  }

  /** The error handler of a lifecycle answers. Returns whether no response has begun before. */
  answer (): boolean {
    if (this.hasResponse) return false
    this.#isAnswer = true
    return true
  }

  /** A lifecycle answers for an uncaught error: what the handler sends later is no second response of it. */
  answerUncaught (): void {
    this.#answersUncaught = true
  }

  /** Notes the second response of a request; returns its error, in whose stack is the function that has sent it. */
  repeat ({ raw: { url }, method }: FastifyRequest): Error {
    return (this.#again ??= withStackLimit(MAX_CALLS, () => new AlreadySentError(url, method)))
  }

  /** What an error is about that was raised although a response was sent: errors to record. */
  refuse (request: FastifyRequest, error: unknown): unknown[] {
    const isLogged = codeOf(error) === ALREADY_SENT
    // A response that the application has written to `reply.raw` is no first one.
    const isRepeated = isLogged || (this.#passed > 1 && isHeadersSent(error))
    // That a response is lost says the same.
    if (isRepeated && (this.#answersUncaught || this.#lost !== undefined)) return []
    if (isLogged) this.#again ??= error as Error
    else if (isRepeated) this.repeat(request)
    // A second response is also why its payload is refused: it has the headers of the first one.
    const again = this.#again === undefined ? [] : [this.#again]
    return isRepeated ? again : [...again, error]
  }

  /** The process exits before the response is complete. `errorOf` makes the error from a text about that. */
  exit (errorOf: (when: string) => ProcessExitError): void {
    const begun = this.#reply?.raw.headersSent === true
    this.#end({ kind: 'failed', begun, error: errorOf(when(begun)) })
  }

  /** Keeps headers and status: those that are set later are not sent. */
  settle (): void {
    if (this.#reply === null) return
    this.#sentHeaders ??= sentHeadersOf(this.#reply)
    this.#sentStatus ??= this.#reply.statusCode
  }

  #complete (): Ending {
    const lost = this.#lost
    if (lost === undefined) return { kind: 'sent', begun: true }
    return { kind: 'replaced', begun: true, lost }
  }

  #endingOf (reply: FastifyReply): Ending {
    const { raw, request } = reply
    const socket = this.#socket
    const before = this.#wasClosed ? socket?.bytesWritten : this.#bytesBefore
    const bytes = socket === null || before === undefined ? undefined : socket.bytesWritten - before
    // Node.js drops what it has not written when the connection is closed for an error.
    const begun = raw.headersSent && bytes !== 0
    // The one that is lost may be written after the end.
    if (begun && raw.writableEnded && this.#lost !== undefined) return this.#complete()
    if (isUpgraded(request, reply)) return { kind: 'upgraded', begun: false }
    const failed = (error: unknown): Ending => ({ kind: 'failed', begun, error, bytes })
    const gone: Ending = {
      kind: 'gone', begun, error: new ClientGoneError(`The client closed the connection ${when(begun)}`)
    }
    if (isAbortedInjection(request)) return gone
    const cause = this.#sendError ?? raw.errored ?? streamOf(request)?.errored
    if (cause != null && !isConnectionError(cause)) return failed(cause)
    const refusal = refusalBy(socket?.errored)
    if (refusal !== null) return failed(new NoResponseError(`The server closed the connection: ${refusal}`))
    if (socket !== null && connectionOf(socket).isTimedOut === true) {
      return failed(new NoResponseError('The server closed the idle connection (connectionTimeout)'))
    }
    if (!isClosedByClient(request)) {
      return failed(new NoResponseError(`The server closed the connection ${when(begun)}`))
    }
    if (isEndless(request, reply)) return { kind: 'sent', begun: true }
    return gone
  }
}

/** What a payload is, in words; undefined where there is none. */
export function payloadName (payload: unknown): string | undefined {
  if (payload === undefined || payload === null || payload === '') return undefined
  if (isResponse(payload) && payload.body === null) return undefined
  return isStream(payload) ? `a stream (${classOf(payload)})` : 'a payload'
}

function watchTimeout (socket: Socket): void {
  const connection = connectionOf(socket)
  // One for all requests of a connection: a client may send many at once. A listener of the socket itself does not keep
  // Node.js from closing it (`server.timeout`).
  if (connection.isTimedOut === undefined) socket.on('timeout', () => { connection.isTimedOut = true })
  connection.isTimedOut = false
}

/** The status that was sent: a second response changes the status of the raw response, but not its message. */
function statusOnSocket ({ raw, request }: FastifyReply, hasFailed: boolean): number {
  // With HTTP/2, Node.js warns when a message is read.
  const sent = streamOf(request)?.sentHeaders?.[':status']
  if (sent !== undefined) return Number(sent)
  const { statusCode, statusMessage } = raw
  // A failed `writeHead` has set the message of another status.
  if (hasFailed || STATUS_CODES[statusCode] === statusMessage) return statusCode
  const [ofMessage] = Object.entries(STATUS_CODES).find(([, message]) => message === statusMessage) ?? []
  return Number(ofMessage ?? statusCode)
}

/** Whether Node.js has refused to write the headers of a response a second time. */
export function isHeadersSent (error: unknown): boolean {
  return /^ERR_HTTP2?_HEADERS_SENT$/.test(codeOf(error))
}

/** Why Node.js has refused what was received on a connection; null where it has not. */
function refusalBy (error: unknown): string | null {
  const code = codeOf(error)
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'the request was not complete in time (requestTimeout)'
  // The client has closed the connection within a message.
  const isRefusal = code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE'
  return isRefusal ? `the client sent what is not HTTP (${code})` : null
}

function when (begun: boolean): string {
  return begun ? 'before the response was complete' : 'before the response was sent'
}

/** Whether the caller of `app.inject()` has aborted its request, by a signal. */
function isAbortedInjection ({ raw }: FastifyRequest): boolean {
  return isInjection(raw) && raw.destroyed
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
