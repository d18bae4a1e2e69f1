import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requestContext, stateOf, type RequestState } from '../lifecycle/request-state.js'
import { servicesOf, type Mode } from '../lifecycle/services.js'
import { LogCapture } from '../logs/log-capture.js'
import type { LogLevel } from '../logs/log-record.js'
import { inspected } from '../view/json.js'
import { traceOf } from '../parts/trace/index.js'

/** Captures the log, process events and outgoing calls of each observed request, until the application is closed. */
export function openDiagnostics (app: FastifyInstance) {
  const { fromBeginning, mode, originOf, parts } = app.hindsight
  const capture = new LogCapture(app, () => {
    const request = requestContext.getStore()?.request
    if (request === undefined || servicesOf(request) !== app.hindsight) return undefined
    return stateOf(request).log
  }, onLateError)
  const unwatch = watchRejections(mode)
  // Where no request is observed from its beginning, none has an asynchronous context of its own.
  const ends = fromBeginning ? parts.flatMap((part) => part.start?.(app) ?? []) : []
  app.hindsight.closing.push(() => {
    unwatch()
    for (const end of ends) end()
    capture.close()
  })

  return {
    /** Whether the logger is one of pino, which publishes its lines. */
    hasPinoLogger: capture.hasPinoLogger,
    /** Captures the log of a request; false where it is not observed. The caller enters the asynchronous context. */
    open (request: FastifyRequest, reply: FastifyReply): boolean {
      const state = stateOf(request)
      if (!state.observed) {
        capture.buffer(request)
        return false
      }
      // The connection may be closed when the profile is built.
      originOf(request)
      const log = capture.open(request)
      state.log = log
      reply.log = request.log
      const trace = traceOf(request.headers.traceparent)
      if (trace !== null) state.collect('trace', () => trace)
      return true
    }
  }
}

function onLateError (state: RequestState, error: unknown): void {
  const { reply } = state
  if (reply === null) return
  state.otherErrors.push(error)
  servicesOf(reply.request).profiles?.queueAgain(reply.request, reply)
}

// Neither listener changes what the process does. They attribute events to the request that caused them.
process.on('warning', onWarning).on('uncaughtExceptionMonitor', onUncaught)

let fullApplications = 0

/** Attributes unhandled rejections to requests, until the returned function is called. */
function watchRejections (mode: Mode): () => void {
  // With a listener, Node.js would not turn rejections into uncaught exceptions.
  if (mode === 'observe') return () => {}
  if (fullApplications++ === 0) process.on('unhandledRejection', onRejection)
  return () => {
    if (--fullApplications === 0) process.off('unhandledRejection', onRejection)
  }
}

function onWarning (warning: Error): void {
  note('warn', `${warning.name}: ${warning.message}`, warning.stack)
}

function note (level: LogLevel, message: string, stack: string | undefined): void {
  const request = requestContext.getStore()?.request
  if (request !== undefined) stateOf(request).log?.note(level, { channel: 'process', message, context: { stack } })
}

function onUncaught (raised: unknown, origin: string): void {
  try {
    recordUncaught(raised, origin)
  } catch {
    // An error thrown here would replace the exception.
  }
}

function recordUncaught (raised: unknown, origin: string): void {
  const context = requestContext.getStore()
  if (context === undefined) return
  const { request } = context
  if (request === undefined) return context.addError?.(raised)
  const { mode, profiles } = servicesOf(request)
  const state = stateOf(request)
  const { reply } = state
  if (state.otherErrors.includes(raised)) return
  const what = origin === 'unhandledRejection' ? 'Unhandled rejection' : 'Uncaught exception'
  const message = `${what} in the work of this request`
  if (mode === 'full') request.log.fatal({ err: raised, channel: 'process' }, message)
  else note('fatal', message, raised instanceof Error ? raised.stack : inspected(raised))
  state.otherErrors.push(raised)
  if (reply === null) return
  if (reply.sent) {
    profiles?.queueAgain(request, reply)
  } else if (mode === 'full' && !state.failed) {
    // The service ends only after pending responses were sent.
    reply.send(raised instanceof Error ? raised : new Error(`${what}: ${String(raised)}`, { cause: raised }))
  }
}

function onRejection (reason: unknown): void {
  onUncaught(reason, 'unhandledRejection')
  // With this listener alone, Node.js would not end the process as it does without it. The next tick keeps the
  // asynchronous context of the request, which a throwing listener loses.
  if (process.listenerCount('unhandledRejection') === 1) process.nextTick(() => { throw reason })
}
