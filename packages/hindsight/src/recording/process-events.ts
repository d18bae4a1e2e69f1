import { attemptCall } from '../call.js'
import { isLoggedByFastify } from '../errors/declared-place.js'
import { textOfStack } from '../errors/thrown-value.js'
import { currentContext, JobTrace, type RequestTrace, type Services } from './trace.js'
import { currentLog, LogCapture } from '../logs/log-capture.js'
import type { LogLevel } from '../logs/log-record.js'
import { inspectValue } from '../view/text.js'

/** Captures the log and the process events of each recorded request, until the application is closed. */
export function openLogs (
  { app, closing, lifecycle }: Services, recorder: { fail: (trace: RequestTrace, error: unknown) => void }
): LogCapture {
  // An error that no hook receives: that of a handler that fails after its response, and of a second response.
  const capture = new LogCapture(app, (trace, error) => { if (isLoggedByFastify()) recorder.fail(trace, error) })
  closing.push(watchRejections(lifecycle !== null), () => capture.close())
  return capture
}

// Neither listener changes what the process does. They attribute events to the request that caused them.
process.on('uncaughtExceptionMonitor', onUncaught).on('warning', (warning: Error) => {
  note('warn', `${warning.name}: ${warning.message}`, textOfStack(warning))
})

const REJECTION = 'unhandledRejection'
/** The open applications: those with a lifecycle, and those that are only observed. */
const applications = { withLifecycle: 0, observed: 0 }

/** Attributes unhandled rejections to requests, until the returned function is called. */
function watchRejections (hasLifecycle: boolean): () => void {
  const kind = hasLifecycle ? 'withLifecycle' : 'observed'
  const isFirst = applications.observed + applications.withLifecycle === 0
  if (isFirst) process.on('newListener', onAdded).on('removeListener', onRemoved)
  applications[kind]++
  listenForRejections()
  return () => {
    applications[kind]--
    listenForRejections()
    if (applications.observed + applications.withLifecycle > 0) return
    process.off('newListener', onAdded).off('removeListener', onRemoved)
  }
}

/**
 * Adds or removes the listener. With one, Node.js does not turn rejections into uncaught exceptions: where
 * applications are only observed, it is added only beside those of the application.
 */
function listenForRejections (added = 0): void {
  const listeners = process.listeners(REJECTION)
  const isListening = listeners.includes(onRejection)
  const others = listeners.length - Number(isListening) + added
  const needed = applications.withLifecycle > 0 || (applications.observed > 0 && others > 0)
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
  attemptCall(() => recordUncaught(raised, origin))
}

function recordUncaught (raised: unknown, origin: string): void {
  const context = currentContext()
  if (context === undefined) return
  const { trace, request, ofRequest: { late } } = context
  const services = trace?.services ?? late?.services
  if (services === undefined || trace?.recording.otherErrors.includes(raised) === true) return
  const { app, lifecycle } = services
  const what = origin === REJECTION ? 'Unhandled rejection' : 'Uncaught exception'
  const work = trace instanceof JobTrace ? trace.facts.kind : 'request'
  const message = `${what} in the work of this ${work}`
  if (lifecycle !== null) (request?.request.log ?? app?.log)?.fatal({ err: raised, channel: 'process' }, message)
  else note('fatal', message, raised instanceof Error ? textOfStack(raised) : inspectValue(raised))
  if (request === undefined) {
    // A job is over when it has another recording, and a request when its memory was released.
    if (late !== undefined) late.addError(raised)
    else trace?.recording.addError(raised)
    return
  }
  const { failure, sending } = request.recording
  request.services.app.hindsight.recorder?.addError(request, raised)
  if (lifecycle === null || !request.hasBegun || request.hasResult || failure !== null) return
  // A service ends only after pending responses were sent.
  sending.answerUncaught()
  request.reply.send(raised instanceof Error ? raised : new Error(`${what}: ${String(raised)}`, { cause: raised }))
}

function onRejection (reason: unknown): void {
  onUncaught(reason, REJECTION)
  if (process.listenerCount(REJECTION) > 1) return
  // Without a listener Node.js ends the process, and prints where the error was raised.
  process.off(REJECTION, onRejection)
  Promise.reject(reason)
  setImmediate(listenForRejections)
}
