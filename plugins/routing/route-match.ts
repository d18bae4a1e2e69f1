import type { FastifyRequest } from 'fastify'
import type { RouteMatch } from '../kernel/route-config.js'
import { routeConfigOf } from '../kernel/route-config.js'

/** The route that a request matched; null where none did. */
export function routeMatchOf (request: FastifyRequest): RouteMatch | null {
  if (request.is404) return null
  const pattern = request.routeOptions.url ?? ''
  const name = request.server.hindsight.routeTable.of(request)?.name ?? routeConfigOf(request)?.name ?? `${request.method} ${pattern}`
  return { name, pattern, params: request.params as Record<string, unknown> }
}
