import type { FastifyInstance } from 'fastify'
import { attempt } from '../call.js'
import { isLoggedByFastify } from '../errors/declared-place.js'
import { textOfStack } from '../errors/thrown-value.js'
import { recordingOf, requestContext, servicesOf, type Mode } from '../lifecycle/state.js'
import { currentLog, LogCapture } from '../logs/log-capture.js'
import type { LogLevel } from '../logs/log-record.js'
import { inspected } from '../view/text.js'
import type { Recording } from './recording.js'

/** Captures the log and the process events of each recorded request, until the application is closed. */
export function openLogs (app: FastifyInstance): LogCapture {
  const { closing, mode } = app.hindsight
  const capture = new LogCapture(app, addLateError)
  closing.push(watchRejections(mode), () => capture.close())
  return capture
}

/** Adds an error that no hook receives: that of a handler that fails after its response, and of a second response. */
function addLateError ({ reply }: Recording, error: unknown): void {
  if (reply !== null && isLoggedByFastify()) servicesOf(reply.request).recorder?.fail(reply.request, reply, error)
}

// Neither listener changes what the process does. They attribute events to the request that caused them.
process.on('uncaughtExceptionMonitor', onUncaught).on('warning', (warning: Error) => {
  note('warn', `${warning.name}: ${warning.message}`, textOfStack(warning))
})

const REJECTION = 'unhandledRejection'
/** The open applications of each mode. */
const applications: Record<Mode, number> = { observe: 0, full: 0 }

/** Attributes unhandled rejections to requests, until the returned function is called. */
function watchRejections (mode: Mode): () => void {
  if (applications.observe + applications.full === 0) process.on('newListener', onAdded).on('removeListener', onRemoved)
  applications[mode]++
  listenForRejections()
  return () => {
    applications[mode]--
    listenForRejections()
    if (applications.observe + applications.full > 0) return
    process.off('newListener', onAdded).off('removeListener', onRemoved)
  }
}

/**
 * Adds or removes the listener. With one, Node.js does not turn rejections into uncaught exceptions: in `observe` mode
 * it is added only beside those of the application.
 */
function listenForRejections (added = 0): void {
  const listeners = process.listeners(REJECTION)
  const isListening = listeners.includes(onRejection)
  const others = listeners.length - Number(isListening) + added
  const needed = applications.full > 0 || (applications.observe > 0 && others > 0)
  if (needed && !isListening) process.prependListener(REJECTION, onRejection)
  if (!needed && isListening) process.off(REJECTION, onRejection)
}

function onAdded (name: string | symbol, listener: unknown): void {
  if (name === REJECTION && listener !== onRejection) listenForRejections(1)
}

function onRemoved (name: string | symbol, listener: unknown): void {
  if (name === REJECTION && listener !== onRejection) listenForRejections()
}

function note (level: LogLevel, message: string, stack: string | undefined): void {
  currentLog()?.note(level, { channel: 'process', message, context: { stack } })
}

function onUncaught (raised: unknown, origin: string): void {
  // An error thrown here would replace the exception.
  attempt(() => recordUncaught(raised, origin))
}

function recordUncaught (raised: unknown, origin: string): void {
  const context = requestContext.getStore()
  if (context === undefined) return
  const { request, ofRequest: { late } } = context
  const services = request === undefined ? late?.services : servicesOf(request)
  if (services === undefined || (request !== undefined && recordingOf(request).otherErrors.includes(raised))) return
  const { app, mode, recorder } = services
  const what = origin === REJECTION ? 'Unhandled rejection' : 'Uncaught exception'
  const message = `${what} in the work of this request`
  if (mode === 'full') (request?.log ?? app.log).fatal({ err: raised, channel: 'process' }, message)
  else note('fatal', message, raised instanceof Error ? textOfStack(raised) : inspected(raised))
  // The request is over, and its memory was released.
  if (request === undefined) return late?.addError(raised)
  const { failure, reply } = recordingOf(request)
  recorder?.addError(request, raised)
  if (mode === 'full' && reply?.sent === false && failure === null) {
    // The service ends only after pending responses were sent.
    recordingOf(request).isAnswered = true
    reply.send(raised instanceof Error ? raised : new Error(`${what}: ${String(raised)}`, { cause: raised }))
  }
}

function onRejection (reason: unknown): void {
  onUncaught(reason, REJECTION)
  if (process.listenerCount(REJECTION) > 1) return
  // Without a listener Node.js ends the process, and prints where the error was raised.
  process.off(REJECTION, onRejection)
  Promise.reject(reason)
  setImmediate(listenForRejections)
}
