import type { FastifyReply, FastifyRequest } from 'fastify'
import { listener, Skip } from '../kernel/listener.js'
import { requestContext } from '../kernel/request-context.js'
import { traceOf } from '../kernel/trace-context.js'
import { ownHook } from '../kernel/own-hooks.js'
import { stateOf, type RequestState } from '../kernel/request-state.js'
import { RequestLog } from '../logs/request-log.js'

export interface DebugHandlersOptions {
  /** How many frames a stack keeps in debug mode. */
  stackDepth?: number
}

const notObserved = new Skip('the request is observed only if it fails')

/**
 * Opens the request's diagnostic context: its log is captured, and what the process says on its own
 * (a warning, an unhandled rejection, an uncaught exception) or sends by HTTP is attributed to the request that caused it.
 */
export const debugHandlers = listener('kernel.request', 'debug-handlers', async (app, { stackDepth = 50 }: DebugHandlersOptions) => {
  const { attached, debug, observed, fromBeginning, originOf } = app.hindsight
  if (!observed) return 'not in debug mode'
  const { watchProcess } = await import('../diagnostics/process-watch.js')
  const { LogCapture } = await import('../logs/log-capture.js')
  const { watchOutgoing } = await import('../profiler/outgoing/watch-outgoing.js')
  if (debug) Error.stackTraceLimit = Math.max(Error.stackTraceLimit, stackDepth)
  const capture = new LogCapture(app, () => {
    const context = requestContext.getStore()
    const log = context === undefined ? null : stateOf(context.request).log
    return log instanceof RequestLog ? log : null
  })
  const unwatch = watchProcess()
  // Where no request is observed from its beginning, none has a context of its own.
  const unwatchOutgoing = fromBeginning ? watchOutgoing() : null
  app.addHook('onClose', async function closeDiagnostics () {
    unwatch()
    unwatchOutgoing?.()
    capture.close()
  })

  function open (request: FastifyRequest, reply: FastifyReply): Skip | undefined {
    if (!stateOf(request).observed) {
      capture.reserve(request)
      // A connection that is kept may still have the context of an observed request before.
      if (requestContext.getStore() !== undefined) requestContext.enterWith(undefined)
      return notObserved
    }
    const log = capture.open(request)
    // Who reads the log of an application that is attached to has not asked for lines of ours.
    log.keepsOwn = attached
    // The connection may be gone when it is asked for.
    if (attached) originOf(request)
    reply.log = request.log
    const state = stateOf(request)
    state.log = log
    openTrace(request, state)
    requestContext.enterWith({ request, reply })
  }
  app.hindsight.openDiagnostics = open
  app.hindsight.logOf = (request) => capture.logOf(request)
  if (!fromBeginning) return capture.hasDestination ? open : 'the application has no log'
  // The parser hands out the body in an execution context of its own; what comes after it belongs to the request again.
  app.addHook('preValidation', ownHook(function reenter (request, reply, done) {
    if (stateOf(request).observed) requestContext.run({ request, reply }, done)
    else if (requestContext.getStore() === undefined) done()
    else requestContext.run(undefined, done)
  }))
  return open
})

// The span is drawn when the profile is written, unless a request to somebody else has needed it.
function openTrace ({ headers: { traceparent, tracestate } }: FastifyRequest, state: RequestState): void {
  if (traceparent === undefined) return
  const trace = traceOf(traceparent, tracestate)
  state.trace = trace
  if (trace !== null) state.collect('trace', () => ({ traceId: trace.traceId, parentId: trace.parentId, spanId: trace.spanId, sampled: trace.sampled }))
}
