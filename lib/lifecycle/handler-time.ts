import { performance } from 'node:perf_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LastHook } from './last-hook.js'
import { ownHook } from './own-hooks.js'
import { requestContext } from './request-context.js'
import { stateOf } from './request-state.js'
import { servicesOf } from './services-of.js'

/**
 * Notes when the handlers of an application begin and end, for the requests that are observed, and has them run in the asynchronous context of their request,
 * which the parser of the body leaves. The diagnostics channel `tracing:fastify.request.handler` is not used: where it has a subscriber, Fastify 5.12 sets
 * the status of an error before it calls an error handler of the application, which finds 200 otherwise.
 */
export function timeHandlers (app: FastifyInstance): LastHook {
  const beforeHandler = new LastHook('preHandler', (isLast) => function hindsightHandler (request: FastifyRequest, reply: FastifyReply, done: () => void) {
    const state = stateOf(request)
    if (!state.observed) return done()
    if (isLast(request) && !request.is404 && state.handlerStart === 0) {
      app.hindsight.collectRequest?.(request)
      state.handlerStart = performance.now()
      setOutside(request, reply, 'handler')
    }
    requestContext.run({ request, reply }, done)
  })
  beforeHandler.addTo(app)
  app.addHook('preSerialization', ownHook(function hindsightSerialization (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: (error: null, payload: unknown) => void) {
    const state = stateOf(request)
    if (state.observed) {
      endHandler(request)
      state.serializeStart = performance.now()
      state.recorder?.setOutside(reply, 'Fastify')
    }
    done(null, payload)
  }))
  // What is sent without serialization.
  app.addHook('onSend', ownHook(function hindsightHandled (request: FastifyRequest, _reply: FastifyReply, payload: unknown, done: (error: null, payload: unknown) => void) {
    endHandler(request)
    done(null, payload)
  }))
  return beforeHandler
}

/** Notes that a handler has ended, where that is not known yet. */
export function endHandler (request: FastifyRequest): void {
  const state = stateOf(request)
  if (state.isHandling) state.handlerEnd = performance.now()
}

/** Attributes header changes that no recorded function makes to the hooks of the route or to its handler. */
export function setOutside (request: FastifyRequest, reply: FastifyReply, of: 'route' | 'handler'): void {
  const { recorder, controller } = stateOf(request)
  if (recorder === null) return
  if (of === 'handler' && controller !== null) return recorder.setOutside(reply, 'handler', controller.source)
  const { routeTable, placeOf } = servicesOf(request)
  const route = routeTable.of(request)
  const source = route?.declaredAt == null ? null : placeOf?.(route.declaredAt)?.source
  // Hooks of the route that run directly before its handler cannot be separated from it by comparing.
  if (of === 'handler') recorder.setOutside(reply, route?.hasPreHandler === true ? 'handler or route hooks' : 'handler', source)
  else if (route?.hasHooks === true) recorder.setOutside(reply, 'route hooks', source)
  else recorder.setOutside(reply, 'Fastify')
}
