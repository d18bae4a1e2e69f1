import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  attributesOf, explainInsecure, explainNoMatch, type NoMatch, notFound, type RecordedConfig, redirectPage,
  routeConfigOf, type RouteMatch, traceOf
} from 'fastify-hindsight/recorder'
import { stateOf } from '../lib/state.js'
import { Answer, defineListener, Skip } from '../lib/listener.js'

declare module 'fastify' {
  interface FastifyContextConfig extends RecordedConfig {}
  interface FastifyRequest {
    /** The route that matched; null before the router listener has run, and where none did. */
    route: RouteMatch | null
    /** The attributes of the request: `_route`, and the path parameters by their names. */
    attributes: Record<string, unknown>
  }
}

const leftToApplication = new Skip('no route matched, and the application answers that itself')

/** Publishes the route that matched; raises the not-found or method-not-allowed error where none did. */
export const router = defineListener('kernel.request', 'router', (app) => {
  const { isDebugClient, mayReceiveDetails, originOf } = app.hindsight
  app.decorateRequest('route', {
    getter (this: FastifyRequest) { return stateOf(this).isRouteReleased ? null : stateOf(this).route },
    setter (this: FastifyRequest, route: RouteMatch | null) { stateOf(this).route = route }
  })
  app.decorateRequest('attributes', { getter (this: FastifyRequest) { return attributesOf(traceOf(this)) } })
  return (request, reply) => {
    const route = app.hindsight.routeTable.matchOf(request)
    if (route === null) return answerUnrouted(app, request, reply)
    const { debugOnly, checksOrigin, httpsOnly } = routeConfigOf(request) ?? {}
    const isVisible = checksOrigin === true ? isDebugClient : mayReceiveDetails
    if (debugOnly === true && !isVisible(request)) return notFound(traceOf(request))
    if (httpsOnly === true && originOf(request).scheme !== 'https') {
      return answer(explainInsecure(traceOf(request)), request, reply)
    }
    const state = stateOf(request)
    state.route = route
    const message = `Matched route "${route.name}".`
    const log = state.isRecording ? state.recording.log : undefined
    if (log !== undefined) log.debug(request.log, { channel: 'router', message, context: { route: route.name } })
    else request.log.debug({ channel: 'router', route: route.name }, message)
  }
})

/** Releases the matched route. */
export const routerFinish = defineListener('kernel.finish_request', 'router', () => (request) => {
  stateOf(request).isRouteReleased = true
})

function answerUnrouted (app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): Answer | Skip | Error {
  const why = explainNoMatch(traceOf(request))
  // The application has set a not-found handler below a prefix, in the instance of that prefix.
  if (request.server !== app) {
    stateOf(request).recording.routeError = 'error' in why ? why.error : notFound(traceOf(request))
    return leftToApplication
  }
  return answer(why, request, reply)
}

function answer (why: NoMatch, request: FastifyRequest, reply: FastifyReply): Answer | Error {
  if ('error' in why) return why.error
  request.log.debug({ channel: 'router', location: why.redirect }, 'Redirecting to the URL of the route')
  reply.code(301).header('location', why.redirect).type('text/html; charset=utf-8')
  return new Answer(redirectPage(why.redirect))
}
