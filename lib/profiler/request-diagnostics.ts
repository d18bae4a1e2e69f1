import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requestContext, stateOf, type RequestState } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { traceOf, type TraceContext } from './outgoing/trace-context.js'
import { LogCapture } from '../logs/log-capture.js'
import type { RequestLog } from '../logs/request-log.js'
import { watchOutgoing } from './outgoing/watch-outgoing.js'
import { watchProcess } from './process-watch.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The trace that the request is part of. */
    trace?: TraceContext | null
  }
}

declare module '../lifecycle/services.js' {
  interface Services {
    diagnostics?: RequestDiagnostics
  }
}

/** The diagnostic context of an application's requests. */
export interface RequestDiagnostics {
  /** Captures the log of a request; false where it is not observed. The caller enters the asynchronous context. */
  open: (request: FastifyRequest, reply: FastifyReply) => boolean
  /** Whether there is a log to capture. */
  hasLog: boolean
  /** The log of a request, as far as it was kept. */
  logOf: (request: FastifyRequest) => RequestLog | null
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
    return stateOf(request).log ?? null
  })
  const unwatch = watchProcess(mode)
  // Where no request is observed from its beginning, none has an asynchronous context of its own.
  const unwatchOutgoing = fromBeginning ? watchOutgoing() : null
  app.hindsight.closing.push(() => {
    unwatch()
    unwatchOutgoing?.()
    capture.close()
  })

  const diagnostics: RequestDiagnostics = {
    hasLog: capture.hasDestination,
    logOf: (request) => capture.logOf(request),
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
        app.hindsight.profiles?.keepLate(request, reply)
      }
      state.log = log
      reply.log = request.log
      openTrace(request, state)
      return true
    }
  }
  app.hindsight.diagnostics = diagnostics
  return diagnostics
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
