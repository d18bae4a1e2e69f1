import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requestContext, stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { LogCapture } from '../logs/log-capture.js'
import type { RequestLog } from '../logs/request-log.js'
import { watchOutgoing } from './outgoing.js'
import { watchProcess } from './process-watch.js'

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
      const trace = traceOf(request.headers.traceparent)
      if (trace !== null) state.collect('trace', () => trace)
      return true
    }
  }
  app.hindsight.diagnostics = diagnostics
  return diagnostics
}

// Trace Context, section 3.2: version, trace, parent, flags; what later versions add follows a hyphen.
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0+-)([0-9a-f]{32})-(?!0+-)([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Reads the trace that a request is part of (W3C Trace Context); null where there is none, or an invalid one. */
export function traceOf (traceparent: unknown): { traceId: string, parentId: string, sampled: boolean } | null {
  const match = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null
  if (match === null) return null
  const [, version, traceId = '', parentId = '', flags = '', rest] = match
  return version === '00' && rest !== undefined ? null : { traceId, parentId, sampled: (parseInt(flags, 16) & 1) === 1 }
}
