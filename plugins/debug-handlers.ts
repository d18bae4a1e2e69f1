import { listener, ownHook, Skip } from '../lib/lifecycle/listener.js'
import { contextOf, requestContext, stateOf } from '../lib/lifecycle/request-state.js'

const notObserved = new Skip('the request is observed only if it fails')

/** Starts the log capture and the asynchronous context of a request. */
export const debugHandlers = listener('kernel.request', 'debug-handlers', async (app, { stackDepth = 50 }) => {
  const { debug, observed, fromBeginning } = app.hindsight
  if (!observed) return 'not in debug mode'
  if (debug) Error.stackTraceLimit = Math.max(Error.stackTraceLimit, stackDepth)
  const { openDiagnostics } = await import('../lib/profiler/request-diagnostics.js')
  const diagnostics = openDiagnostics(app)
  if (!fromBeginning && !diagnostics.hasPinoLogger) return 'the logger of the application is not pino'
  // The parser of the body leaves the asynchronous context of its request.
  if (fromBeginning) {
    app.addHook('preValidation', ownHook(function enterContext (request, _reply, done) {
      requestContext.run(stateOf(request).observed ? contextOf(request) : undefined, done)
    }))
  }
  return (request, reply) => {
    const isObserved = diagnostics.open(request, reply)
    // A connection that is kept alive may still have the context of the request before.
    if (isObserved) requestContext.enterWith(contextOf(request))
    else if (requestContext.getStore() !== undefined) requestContext.enterWith(undefined)
    if (!isObserved) return notObserved
  }
})
