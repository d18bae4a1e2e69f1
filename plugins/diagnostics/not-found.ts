import type { FastifyInstance, FastifyRequest } from 'fastify'
import { keep, keptBy } from '../kernel/fastify-symbols.js'
import { routeConfigOf } from '../kernel/route-config.js'
import { explainMiss } from '../routing/route-error.js'

const kOfApplication = Symbol('hindsight.notFoundOfApplication')

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The application answers itself what no route took. */
    [kOfApplication]?: true
  }
}

type NotFound = (this: FastifyInstance, options: unknown, handler?: unknown) => FastifyInstance

/** Whether the application has a not-found handler of its own where a request came to. */
export function hasOwnNotFound (request: FastifyRequest): boolean {
  return routeConfigOf(request)?.[kOfApplication] === true
}

/** Leaves room for the application's own not-found handlers; until there is one, ours answers what a handler calls not found, where it `answers`. */
export function setNotFound (app: FastifyInstance, answers: boolean): void {
  const setNotFoundHandler = app.setNotFoundHandler as NotFound
  if (!markOwn(app) && answers) {
    // Only `reply.callNotFound()` comes here; the router listener has raised for all else.
    setNotFoundHandler.call(app, {}, function notFoundHandler (request: FastifyRequest, reply: { redirect: (url: string, status: number) => unknown }) {
      const miss = explainMiss(request)
      if ('error' in miss) throw miss.error
      return reply.redirect(miss.redirect, 301)
    })
    allowAnother(app)
  }
  app.setNotFoundHandler = function (this: FastifyInstance, first: unknown, second?: unknown) {
    const [options, handler] = typeof first === 'function' ? [{}, first] : [first ?? {}, second]
    const { config } = options as { config?: object }
    return setNotFoundHandler.call(this, { ...options as object, config: { ...config, [kOfApplication]: true } }, handler)
  } as typeof app.setNotFoundHandler
}

// The application may have set its own already: says whether it has.
function markOwn (app: FastifyInstance): boolean {
  const context = keptBy<{ config?: object } | null>(app, 'fastify.404ContextKey')
  if (keptBy<boolean>(app, 'fastify.canSetNotFoundHandler') !== false || !context) return false
  context.config = { ...context.config, [kOfApplication]: true }
  return true
}

// Fastify takes one of each prefix; ours is none of the application's.
function allowAnother (app: FastifyInstance): void {
  keep(app, 'fastify.canSetNotFoundHandler', true)
}
