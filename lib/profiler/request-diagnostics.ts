import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requestContext } from '../lifecycle/request-context.js'
import { stateOf, type RequestState } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services-of.js'
import { traceOf } from '../lifecycle/trace-context.js'
import { LogCapture } from '../logs/log-capture.js'
import { RequestLog } from '../logs/request-log.js'
import { watchOutgoing } from './outgoing/watch-outgoing.js'
import { watchProcess } from '../errors/process-watch.js'

/** The diagnostic context of an application's requests. */
export interface RequestDiagnostics {
  /** Captures the log of a request; false where it is not observed. The caller enters the asynchronous context. */
  open: (request: FastifyRequest, reply: FastifyReply) => boolean
  /** Whether there is a log to capture. */
  hasLog: boolean
}

/**
 * Captures the log of each observed request, warnings, unhandled rejections and uncaught exceptions that occur in its
 * asynchronous context, and the HTTP requests that are sent there. Ends with the application.
 */
export function openDiagnostics (app: FastifyInstance): RequestDiagnostics {
  const { fromBeginning, mode, originOf } = app.hindsight
  const capture = new LogCapture(app, () => {
    const request = requestContext.getStore()?.request
    if (request === undefined || servicesOf(request) !== app.hindsight) return null
    const { log } = stateOf(request)
    return log instanceof RequestLog ? log : null
  })
  const unwatch = watchProcess(mode)
  // Where no request is observed from its beginning, none has an asynchronous context of its own.
  const unwatchOutgoing = fromBeginning ? watchOutgoing() : null
  app.hindsight.closing.push(() => {
    unwatch()
    unwatchOutgoing?.()
    capture.close()
  })
  app.hindsight.logOf = (request) => capture.logOf(request)

  return {
    hasLog: capture.hasDestination,
    open (request, reply) {
      const state = stateOf(request)
      if (!state.observed) {
        capture.reserve(request)
        return false
      }
      // The connection may be closed when the profile is built.
      originOf(request)
      const log = capture.open(request)
      log.onLateError = (error) => {
        state.others.push(error)
        app.hindsight.keepLate?.(request, reply)
      }
      state.log = log
      reply.log = request.log
      openTrace(request, state)
      return true
    }
  }
}

// The span is drawn when the profile is built, unless a request to another server has needed it.
function openTrace ({ headers: { traceparent, tracestate } }: FastifyRequest, state: RequestState): void {
  if (traceparent === undefined) return
  const trace = traceOf(traceparent, tracestate)
  state.trace = trace
  if (trace === null) return
  const { traceId, parentId, sampled } = trace
  state.collect('trace', () => ({ traceId, parentId, spanId: trace.spanId, sampled }))
}
