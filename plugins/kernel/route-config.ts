import type { FastifyRequest } from 'fastify'

/** What the route of a request was declared with. */
export type RouteConfig = FastifyRequest['routeOptions']['config']

/** What the router found for a request. */
export interface RouteMatch {
  name: string
  pattern: string
  params: Record<string, unknown>
}

let kContext = Symbol('unknown yet')

/**
 * What the route of a request declares; undefined where it has no route of any kind.
 * `request.routeOptions` is made anew at each look: what it is made from is asked instead, where Fastify keeps that as it always has.
 */
export function routeConfigOf (request: FastifyRequest): RouteConfig | undefined {
  const context = (request as unknown as Record<symbol, { config?: RouteConfig } | undefined>)[kContext]
  return context === undefined ? toldBy(request) : context.config
}

// Every copy of Fastify has a symbol of its own for the context of a route.
function toldBy (request: FastifyRequest): RouteConfig | undefined {
  kContext = Object.getOwnPropertySymbols(request).find(({ description }) => description === 'fastify.context') ?? kContext
  return request.routeOptions.config
}
