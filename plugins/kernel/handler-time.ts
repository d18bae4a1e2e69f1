// The global one is a getter, which each call would ask.
import { performance } from 'node:perf_hooks'
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { ownHook } from './own-hooks.js'
import { stateOf } from './request-state.js'

/**
 * Watches the handlers of routes, where requests are observed: when they began and ended, when their result was serialised, and what they raised
 * when their response was already on its way.
 */
export function timeHandlers (app: FastifyInstance, observed: boolean): void {
  if (!observed) return
  app.addHook('preSerialization', ownHook(function noteSerialization (request: FastifyRequest, _reply: unknown, payload: unknown, done: (error: null, payload: unknown) => void) {
    stateOf(request).serializeStart = performance.now()
    done(null, payload)
  }))
  app.addHook('onRoute', function watch (route) {
    const { handler } = route
    route.handler = Object.defineProperty(watched(handler), 'name', { value: handler.name })
  })
}

function watched (handler: RouteHandlerMethod): RouteHandlerMethod {
  return function (request, reply) {
    // Whoever wraps handlers may call this one with less than Fastify does.
    const state = (request as FastifyRequest | undefined) === undefined ? null : stateOf(request)
    if (state === null || !state.observed) return handler.call(this, request, reply) as unknown
    state.handlerStart = performance.now()
    let result: unknown
    try {
      result = handler.call(this, request, reply)
    } catch (raised) {
      state.handlerEnd = performance.now()
      throw raised
    }
    if (!(result instanceof Promise)) {
      state.handlerEnd = performance.now()
      return result
    }
    return result.then((value: unknown) => {
      state.handlerEnd = performance.now()
      return value
    }, (raised: unknown) => {
      state.handlerEnd = performance.now()
      if (reply.sent) {
        state.others.push(raised)
        request.server.hindsight.keepLate?.(request, reply)
      }
      throw raised
    })
  }
}
