import type { FastifyReply, FastifyRequest } from 'fastify'
import { Answer, listener, Raise, Skip } from '../kernel/listener.js'
import { kUnknownMethod } from '../kernel/malformed.js'
import { provide } from '../kernel/provided-names.js'
import { attributesOf } from '../kernel/request-attributes.js'
import type { RouteMatch } from '../kernel/route-config.js'
import { stateOf } from '../kernel/request-state.js'
import { routeConfigOf } from '../kernel/route-config.js'
import type { Said } from '../logs/line.js'
import { RequestLog } from '../logs/request-log.js'
import { explainMiss, notFound } from '../routing/route-error.js'
import { redirectPage } from '../view/redirect-page.js'

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
  const { hindsight: { attached, mayReadDebug }, routeTable } = app
  provide(app, 'request', 'route', {
    getter (this: FastifyRequest) { return stateOf(this).route },
    setter (this: FastifyRequest, route: RouteMatch | null) { stateOf(this).route = route }
  })
  provide(app, 'request', 'attributes', { getter (this: FastifyRequest) { return attributesOf(this) } })
  // One for each route, whose names are few: whoever shows it again knows it.
  const known = new Map<string, Said>()
  function matched (name: string): Said {
    let said = known.get(name)
    if (said === undefined) known.set(name, said = { channel: 'router', message: `Matched route "${name}".`, context: { route: name } })
    return said
  }

  return (request, reply) => {
    if (request.is404 || request.raw[kUnknownMethod] !== undefined) return miss(request, reply)
    const config = routeConfigOf(request)
    // Also where Fastify tells of what is not found: it would have found this.
    if (config?.debugOnly === true && !mayReadDebug(request)) return new Raise(notFound(request))
    const pattern = config?.url ?? ''
    const name = routeTable.of(request)?.name ?? config?.name ?? `${request.method} ${pattern}`
    const state = stateOf(request)
    state.route = { name, pattern, params: request.params as Record<string, unknown> }
    const { log } = state
    if (log instanceof RequestLog) log.debug(request.log, matched(name))
    else if (!attached) request.log.debug({ channel: 'router', route: name }, `Matched route "${name}".`)
  }
})

/** Drops the matched route, so that nothing of it is held longer than its request. */
export const routerFinish = listener('kernel.finish_request', 'router', () => (request) => {
  stateOf(request).route = null
})

function miss (request: FastifyRequest, reply: FastifyReply): Answer | Raise | Skip {
  if (!request.server.hindsight.answersMiss(request)) {
    const why = explainMiss(request)
    stateOf(request).missed = 'error' in why ? why.error : notFound(request)
    return leftToApplication
  }
  const why = explainMiss(request)
  if ('error' in why) return new Raise(why.error)
  request.log.debug({ channel: 'router', location: why.redirect }, 'Redirecting to the other trailing-slash form of the path')
  reply.code(301).header('location', why.redirect).type('text/html; charset=utf-8')
  return new Answer(redirectPage(why.redirect))
}
