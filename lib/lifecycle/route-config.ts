import type { FastifyRequest } from 'fastify'

/** What the route of a request was declared with. */
export type RouteConfig = FastifyRequest['routeOptions']['config']

/** What the router found for a request. */
export interface RouteMatch {
  name: string
  pattern: string
  params: Record<string, unknown>
}

/** What the route of a request declares; undefined where it has no route of any kind. */
export function routeConfigOf (request: FastifyRequest): RouteConfig | undefined {
  return request.routeOptions.config as RouteConfig | undefined
}
