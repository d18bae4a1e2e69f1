import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Logger } from 'pino'
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { contextOf, knownStateOf, recordingOf, type RequestContext } from '../lifecycle/request-state.js'
import { RequestLog, type LateErrorListener } from './log-record.js'

/** The diagnostics channel on which pino, since version 9.14, publishes each line when it is formatted. */
const CHANNEL = 'tracing:pino_asJson:end'
/** The message of the line that Fastify writes for each request before its first hook. */
const FIRST_MESSAGE = 'incoming request'
/** The message of Fastify when a handler rejects after the response was sent; no hook is called for that error. */
const LATE_ERROR = 'Promise errored, but reply.sent = true was set'

interface PublishedLine {
  /** The logger that writes the line. */
  instance: object
  arguments: readonly [fields: object, message: unknown, level: number, ...rest: unknown[]]
  /** The line; absent where formatting failed. */
  result?: string
}

const captures = new Set<LogCapture>()
/**
 * The property of a logger that has the context of the request whose lines it writes; null where several requests
 * share the logger. The children of a logger inherit it. It is no `WeakMap`: as the request leads to its logger, V8
 * would keep both until a full garbage collection.
 */
const kOwner = Symbol('hindsight.owner')
type Owner = RequestContext | null
/** First lines of requests that are neither opened nor buffered yet, by the request or by its logger. */
const firstLines = new WeakMap<object, { level: number, text: string, at: number }>()

/** Attributes the log lines of an application to the requests that caused them, without parsing or copying them. */
export class LogCapture {
  /** Whether the logger is one of pino, which publishes its lines. Otherwise only opened requests have a log. */
  readonly hasPinoLogger: boolean
  readonly current: () => RequestLog | undefined
  readonly #app: FastifyInstance
  readonly #onLateError: LateErrorListener | undefined

  /** `current` returns the log of the request whose asynchronous context is current, if it is of this application. */
  constructor (app: FastifyInstance, current: () => RequestLog | undefined, onLateError?: LateErrorListener) {
    this.#app = app
    this.#onLateError = onLateError
    this.current = current
    this.hasPinoLogger = isPublished(app.log)
    if (captures.size === 0) subscribe(CHANNEL, onLine)
    captures.add(this)
  }

  /** Starts the capture of a request's log. */
  open (request: FastifyRequest): RequestLog {
    const log = this.#logFor(request)
    const { log: logger } = request
    if (isPublished(logger)) log.writesDebug = this.#app.hindsight.mode === 'full' && logger.isLevelEnabled('debug')
    else if (isDisabled(logger)) request.log = lateErrorLogger(logger, contextOf(request))
    return log
  }

  /** Buffers the lines that a request's logger writes, in case the request fails. */
  buffer (request: FastifyRequest): void {
    if (this.hasPinoLogger) this.#logFor(request)
  }

  /** Ends the capture. */
  close (): void {
    captures.delete(this)
    if (captures.size === 0) unsubscribe(CHANNEL, onLine)
  }

  #logFor (request: FastifyRequest): RequestLog {
    const recording = recordingOf(request)
    if (recording.log !== undefined) return recording.log
    const log = recording.log = new RequestLog(recording, this.#onLateError)
    const logger = request.log
    if (this.hasPinoLogger && logger !== this.#app.log) {
      const value = Object.hasOwn(logger, kOwner) ? null : contextOf(request)
      // Not enumerable, and without an error for a frozen logger.
      Reflect.defineProperty(logger, kOwner, { value, writable: true, configurable: true })
    }
    const first = firstLines.get(request) ?? firstLines.get(logger)
    if (first !== undefined) log.add(first.level, first.text, first.at)
    firstLines.delete(logger)
    return log
  }
}

// The fields and the logger of a line may throw when they are read. What a subscriber throws would end the process.
function onLine (line: unknown): void {
  try {
    const { instance, arguments: [fields, message, level], result } = line as PublishedLine
    if (typeof result !== 'string') return
    const owner = (instance as { [kOwner]?: Owner })[kOwner] ?? null
    const { err, req } = fields as { err?: unknown, req?: unknown }
    if (message === LATE_ERROR) recordLate(owner, err)
    if (owner !== null) return logOf(owner)?.add(level, result)
    const request = typeof req === 'object' && req !== null ? req as FastifyRequest : null
    if (message !== FIRST_MESSAGE && request?.log !== instance) return logOfContext()?.add(level, result)
    // Fastify writes this line before the first hook, when a kept connection may have the context of its last request.
    const log = request === null ? undefined : knownStateOf(request)?.recording.log
    if (log === undefined) firstLines.set(request ?? instance, { level, text: result, at: performance.now() })
    else log.add(level, result)
  } catch {}
}

function recordLate (owner: Owner, error: unknown): void {
  const log = owner === null ? logOfContext() : logOf(owner)
  if (log !== undefined) log.onLateError?.(log.recording, error)
}

// For lines of a logger that belongs to no single request, such as that of the application or of a module.
function logOfContext (): RequestLog | undefined {
  for (const capture of captures) {
    const log = capture.current()
    if (log !== undefined) return log
  }
}

/** Undefined where the request is over, and its memory was released. */
function logOf ({ request }: RequestContext): RequestLog | undefined {
  return request === undefined ? undefined : recordingOf(request).log
}

/** Whether a logger is one of pino's, of a version that publishes its lines. */
function isPublished (logger: FastifyBaseLogger): logger is FastifyBaseLogger & Logger {
  const { version, bindings, isLevelEnabled } = logger as Partial<Logger>
  if (typeof bindings !== 'function' || typeof isLevelEnabled !== 'function') return false
  const [major = 0, minor = 0] = String(version).split('.').map(Number)
  return major > 9 || (major === 9 && minor >= 14)
}

/** Whether a logger is that of Fastify for `logger: false`, which has no level and writes nothing. */
function isDisabled (logger: FastifyBaseLogger): boolean {
  return (logger as { level?: unknown }).level === undefined && logger.child({}) === logger
}

/** A disabled logger that reports late errors: Fastify only logs them. */
function lateErrorLogger (logger: FastifyBaseLogger, owner: RequestContext): FastifyBaseLogger {
  const error = (fields: { err?: unknown } | undefined, message: unknown): void => {
    if (message === LATE_ERROR) recordLate(owner, fields?.err)
  }
  return Object.create(logger, { error: { value: error, writable: true } }) as FastifyBaseLogger
}
