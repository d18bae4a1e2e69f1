import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Answer, listener, Skip } from '../lib/lifecycle/listener.js'
import { kUnknownMethod } from '../lib/http/method-override.js'
import { attributesOf } from '../lib/lifecycle/request-state.js'
import type { RouteMatch } from '../lib/lifecycle/request-state.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { routeConfigOf } from '../lib/lifecycle/request-state.js'
import type {} from '../lib/logs/request-log.js'
import { explainMiss, notFound } from '../lib/routing/route-error.js'
import { routeMatchOf } from '../lib/routing/route-match.js'
import { redirectPage } from '../lib/view/redirect-page.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True: the route exists for those only who may see the debug surface. */
    debugOnly?: boolean
  }
  interface FastifyRequest {
    /** The route that matched; null before the router listener has run, and where none did. */
    route: RouteMatch | null
    /** What listeners know about the request: `_route`, and the path parameters by their names. */
    attributes: Record<string, unknown>
  }
}

const leftToApplication = new Skip('no route matched, and the application answers that itself')

/** Publishes the route that matched; raises the not-found or method-not-allowed error where none did. */
export const router = listener('kernel.request', 'router', (app) => {
  const { mayReadDebug } = app.hindsight
  app.decorateRequest('route', {
    getter (this: FastifyRequest) { return stateOf(this).route },
    setter (this: FastifyRequest, route: RouteMatch | null) { stateOf(this).route = route }
  })
  app.decorateRequest('attributes', { getter (this: FastifyRequest) { return attributesOf(this) } })
  return (request, reply) => {
    const route = request.raw[kUnknownMethod] === undefined ? routeMatchOf(request) : null
    if (route === null) return miss(app, request, reply)
    // Fastify's own handling of what is not found would have found this.
    if (routeConfigOf(request)?.debugOnly === true && !mayReadDebug(request)) throw notFound(request)
    const state = stateOf(request)
    state.route = route
    const message = `Matched route "${route.name}".`
    const { log } = state
    if (log) log.debug(request.log, { channel: 'router', message, context: { route: route.name } })
    else request.log.debug({ channel: 'router', route: route.name }, message)
  }
})

/** Drops the matched route, so that nothing of it is held longer than its request. */
export const routerFinish = listener('kernel.finish_request', 'router', () => (request) => {
  stateOf(request).route = null
})

function miss (app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): Answer | Skip {
  // A not-found handler that the application has set below a prefix belongs to the instance of that prefix.
  if (request.server !== app) {
    const why = explainMiss(request)
    stateOf(request).missed = 'error' in why ? why.error : notFound(request)
    return leftToApplication
  }
  const why = explainMiss(request)
  if ('error' in why) throw why.error
  request.log.debug({ channel: 'router', location: why.redirect }, 'Redirecting to the other trailing-slash form of the path')
  reply.code(301).header('location', why.redirect).type('text/html; charset=utf-8')
  return new Answer(redirectPage(why.redirect))
}
