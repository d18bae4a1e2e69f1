import type { FastifyRequest } from 'fastify'
import { stateOf } from './request-state.js'
import type { Services } from './services.js'

/** The services of the application that a request came to: after `reply.callNotFound()` its `server` may be an instance around it that has none. */
export function servicesOf (request: FastifyRequest): Services {
  return (stateOf(request).scope ?? request.server).hindsight
}
