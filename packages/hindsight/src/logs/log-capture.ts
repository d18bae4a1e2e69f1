import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Logger } from 'pino'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { attemptCall } from '../call.js'
import { performance } from '../clock.js'
import {
  currentContext, currentHook, knownTraceOf, recordingIn, type RequestContext, type RequestTrace
} from '../recording/trace.js'
import { addCalls, isErrorOrWorse, levelName, RequestLog, type KeptLine } from './log-record.js'

/** The diagnostics channel on which pino, since version 9.14, publishes each line when it is formatted. */
export const LINES = 'tracing:pino_asJson:end'
/** Lines before the first hook of a request. */
const MAX_FIRST_LINES = 20

export interface PublishedLine {
  /** The logger that writes the line. */
  instance: Logger
  arguments: readonly [fields: object, message: unknown, level: number, ...rest: unknown[]]
  /** The line; absent where formatting failed. */
  result?: string
}

/** A line of a request that was not known yet, and the log of another request that it was added to. */
interface FirstLine { kept: KeptLine, log: RequestLog | undefined }

/** How many applications are captured. */
let captures = 0
/**
 * The property of a logger that has the context of the request whose lines it writes; null where several requests
 * share the logger. The children of a logger inherit it. It is no `WeakMap`: as the request leads to its logger, V8
 * would keep both until a full garbage collection.
 */
const kOwner = Symbol('hindsight.owner')
type Owner = RequestContext | null

/**
 * Lines that Fastify writes for a request before its first hook: by the request, or by a logger of no known request,
 * for the turn of the event loop.
 */
const firstLines = new WeakMap<object, FirstLine[]>()

/** Begins to attribute the lines of pino to the work in whose asynchronous context they are written. */
export function captureLines (): void {
  if (captures++ === 0) subscribe(LINES, onLine)
}

/** Attributes the log lines of an application to the requests that caused them, without parsing or copying them. */
export class LogCapture {
  /** Whether the logger is one of pino, which publishes its lines. Otherwise only opened requests have a log. */
  readonly hasPinoLogger: boolean
  readonly #app: FastifyInstance
  readonly #onLateError: (trace: RequestTrace, error: unknown) => void

  /** `onLateError` receives the error of a line that is written after the response; the logger calls it. */
  constructor (app: FastifyInstance, onLateError: (trace: RequestTrace, error: unknown) => void = () => {}) {
    this.#app = app
    this.#onLateError = onLateError
    this.hasPinoLogger = isPublished(app.log)
    captureLines()
  }

  /**
   * Starts the capture of a request's log. False where the request is not recorded: the lines that its logger writes
   * are buffered, in case it fails.
   */
  open (trace: RequestTrace): boolean {
    const { request, reply, recording: { isRecording } } = trace
    if (!isRecording && !this.hasPinoLogger) return false
    const log = this.#logFor(trace)
    if (!isRecording) return false
    const { log: logger } = request
    const writesDebug = isPublished(logger) && logger.isLevelEnabled('debug')
    log.writesDebug = writesDebug && this.#app.hindsight.lifecycle !== null
    if (!isDisabled(logger)) return true
    request.log = errorLogger(logger, trace.context)
    // A hook may have given the reply another logger.
    if (reply.log === logger) reply.log = request.log
    return true
  }

  /** Ends the capture. */
  close (): void {
    if (--captures === 0) unsubscribe(LINES, onLine)
  }

  #logFor (trace: RequestTrace): RequestLog {
    const { request, recording } = trace
    if (recording.log !== undefined) return recording.log
    const log = recording.log = new RequestLog(recording, {
      onLateError: (error) => this.#onLateError(trace, error),
      currentHook: () => currentHook(recording)
    })
    const logger = request.log
    const isShared = Object.hasOwn(logger, kOwner)
    const isOfRequest = this.hasPinoLogger && logger !== this.#app.log
    if (isOfRequest) {
      const value: Owner = isShared ? null : trace.context
      // Not enumerable, and without an error for a frozen logger.
      Reflect.defineProperty(logger, kOwner, { value, writable: true, configurable: true })
    }
    const isUnshared = isOfRequest && !isShared
    // A line of the logger that has the request as a field is in both.
    const lines = new Set([...(isUnshared && firstLines.get(logger)) || [], ...firstLines.get(request) ?? []])
    for (const { kept, log: other } of [...lines].sort((a, b) => a.kept.at - b.kept.at)) {
      other?.remove(kept)
      log.add(kept)
    }
    return log
  }
}

// The fields and the logger of a line may throw when they are read. What a subscriber throws would end the process.
function onLine (message: unknown): void {
  const kept = attemptCall(() => attribute(message as PublishedLine))
  if (kept !== undefined) addCalls(kept)
}

/** Adds a line to the log of its request, and returns it. */
function attribute (
  { instance, arguments: [fields, message, level], result: text }: PublishedLine
): KeptLine | undefined {
  if (typeof text !== 'string') return
  const owner = (instance as { [kOwner]?: Owner })[kOwner] ?? null
  noteError(owner, fields)
  const [field] = Object.keys(fields)
  const line = { text, message, field }
  const kept: KeptLine = { at: performance.now(), level: levelName(level, instance.levels.values), line }
  const { req } = fields as { req?: unknown }
  const request = typeof req === 'object' && req !== null ? req as { log?: unknown } : null
  const known = request?.log === instance ? knownTraceOf(request)?.recording.log : undefined
  // When Fastify writes the first line, a kept connection may have the context of its last request.
  const log = owner === null ? known ?? currentLog() : logOf(owner)
  log?.add(kept)
  if (isErrorOrWorse(kept)) log?.keepError(fields)
  if (owner !== null || known !== undefined) return kept
  if (!firstLines.has(instance)) setImmediate(() => { firstLines.delete(instance) })
  const first = { kept, log }
  for (const key of [instance, request]) {
    if (key === null) continue
    const lines = firstLines.get(key) ?? []
    if (lines.length < MAX_FIRST_LINES) lines.push(first)
    firstLines.set(key, lines)
  }
  return kept
}

/** Reports the error of a line that is written after the response. */
function noteError (owner: Owner, fields: object): void {
  const context = owner ?? currentContext()
  if (context === undefined || !('err' in fields)) return
  const { trace } = context
  const log = trace === undefined ? logOf(context) : trace.recording.log
  const isLate = trace === undefined || trace.hasResult
  if (isLate) log?.onLateError?.(fields.err)
}

/** The log of the asynchronous context, if its request is recorded: for lines of no request's own logger. */
export function currentLog (): RequestLog | undefined {
  const { isRecording = false, log } = recordingIn()?.recording ?? {}
  if (isRecording) return log
}

/** Undefined where the request has been over for too long. */
function logOf (context: RequestContext): RequestLog | undefined {
  return recordingIn(context)?.recording.log
}

/** Whether a logger is one of pino's, of a version that publishes its lines. */
function isPublished (logger: FastifyBaseLogger): logger is FastifyBaseLogger & Logger {
  const { version, bindings, isLevelEnabled } = logger as Partial<Logger>
  if (typeof bindings !== 'function' || typeof isLevelEnabled !== 'function') return false
  const [major = 0, minor = 0] = String(version).split('.').map(Number)
  return major > 9 || (major === 9 && minor >= 14)
}

/** Whether a logger writes no errors or warnings: that of Fastify for `logger: false`, or one of a higher level. */
function isDisabled (logger: FastifyBaseLogger): boolean {
  if (isPublished(logger)) return !logger.isLevelEnabled('warn')
  // That of Fastify has one empty function for all levels.
  const { level, error, warn, info } = logger as Partial<FastifyBaseLogger>
  return level === undefined && error === warn && warn === info
}

/** A logger that also reports the errors that Fastify logs, at the levels that are not written. */
function errorLogger (logger: FastifyBaseLogger, owner: RequestContext): FastifyBaseLogger {
  // The application may have a logger like that of Fastify, or change the level: each call reaches the logger.
  const method = (level: 'warn' | 'error'): PropertyDescriptor => ({
    value: (...line: [fields: unknown]): void => {
      const fields = Object(line[0]) as object
      noteError(owner, fields)
      if (level === 'error') logOf(owner)?.keepError(fields, 'The logger is off; it received')
      logger[level](...line)
    },
    writable: true,
    configurable: true
  })
  const writesErrors = isPublished(logger) && logger.isLevelEnabled('error')
  return Object.create(logger, {
    warn: method('warn'), ...(!writesErrors && { error: method('error') })
  }) as FastifyBaseLogger
}
