import type { FastifyRequest } from 'fastify'
import type { RouteMatch } from '../lifecycle/request-state.js'
import { routeConfigOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'

/** The route that a request matched; null where none did. */
export function routeMatchOf (request: FastifyRequest): RouteMatch | null {
  if (request.is404) return null
  const pattern = request.routeOptions.url ?? ''
  const name = servicesOf(request).routeTable.of(request)?.name ?? routeConfigOf(request)?.name ??
    `${request.method} ${pattern}`
  return { name, pattern, params: request.params as Record<string, unknown> }
}
