import type { FastifyRequest } from 'fastify'
import { MethodNotAllowedError } from '../http/http-errors.js'
import { pathnameOf } from '../http/request-target.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { nearMisses } from '../routing/tried-routes.js'
import type { RouteTable } from '../routing/route-table.js'
import { contextOf } from '../security/context.js'
import { wordFor } from '../view/counted.js'
import { declaredPlace } from './declared-place.js'
import { refusalOf } from './refusal.js'
import type { Hint, HintedRoute } from './report.js'
import { pluginOf, routeCode } from './route-code.js'

const WELCOME = 'The application runs, and has no route for / yet. Every request has a profile: see /_profiler/. ' +
  'To answer this request'

/** Hints for a failure; none where none is certain. */
export function hintsFor (request: FastifyRequest, status: number): Hint[] {
  const { raisedBy, missed, route, reply } = stateOf(request)
  const refusal = refusalOf(request, reply, status, contextOf(request)?.record ?? null)
  if (refusal !== null && refusal.kind !== 'method') return [{ title: 'Why was this refused?', text: refusal.sentence }]
  // After `reply.callNotFound()` there is a route.
  if (route !== null || (missed === null && raisedBy?.listener !== 'router')) return []
  // In `observe` mode the status stays 404.
  if (status === 405 || missed instanceof MethodNotAllowedError) return methodNotAllowed(request)
  return status === 404 ? notFound(request) : []
}

function notFound (request: FastifyRequest): Hint[] {
  const { routeTable } = servicesOf(request)
  const path = pathnameOf(request)
  const { method } = request
  if (path === '/' && !routeTable.own().some(({ pattern }) => pattern === '/')) {
    return routeToPaste(request, 'Welcome to Hindsight', WELCOME)
  }
  const routes = nearRoutes(request)
  const missing = routeToPaste(request, `No route for ${method} ${path}`)
  return routes.length === 0 ? missing : [similarRoutes(routes), ...missing]
}

/** The hint at routes that are nearly the requested one. */
export function similarRoutes (routes: HintedRoute[]): Hint {
  return {
    title: wordFor(routes.length, 'Similar route'),
    text: wordFor(routes.length, 'This route nearly matches.', 'These routes nearly match.'),
    routes
  }
}

function methodNotAllowed (request: FastifyRequest): Hint[] {
  const { method } = request
  const routes = nearRoutes(request).filter(({ why }) => why.startsWith('the method is '))
  const title = `The path has routes, but not for ${method}`
  return [
    ...(routes.length === 0 ? [] : [{ title, text: 'Is the method correct?', routes }]),
    ...routeToPaste(request, `No route for ${method} on this path`)
  ]
}

function nearRoutes (request: FastifyRequest): HintedRoute[] {
  const wanted = { method: request.method, path: pathnameOf(request) }
  const { mask, routeTable } = servicesOf(request)
  return nearMisses(routeTable.own(), wanted).map(({ route, why, path }) => {
    const { methods, pattern, declaredAt } = route
    const source = declaredAt === null ? undefined : declaredPlace(declaredAt)?.source
    return {
      methods,
      pattern,
      why: mask.text(why),
      ...(path !== null && mask.text(path) === path && methods.includes('GET') && { path }),
      ...(source !== undefined && { source })
    }
  })
}

/** A route that would answer the request, and where to add it; none where no such route can be written. */
function routeToPaste (request: FastifyRequest, title: string, purpose = 'To declare it'): Hint[] {
  const { routeTable, mask, mode } = servicesOf(request)
  const path = pathnameOf(request)
  // A path with a secret in it does not become a pattern.
  if (mask.text(path) !== path) return []
  const typescript = usesTypeScript(routeTable)
  const route = routeCode(request.method, path, typescript)
  if (route === null) return []
  if (mode === 'observe') return [{ title, text: `${purpose}, add this route to your application:`, code: route.code }]
  const file = `routes/${route.file}${typescript ? '.ts' : '.js'}`
  return [{ title, text: `${purpose}, save these lines as ${file}:`, code: pluginOf(route, typescript) }]
}

// By the first route of the application; without one by the extension of this module.
function usesTypeScript (routeTable: RouteTable): boolean {
  const declaredAt = routeTable.own()[0]?.declaredAt ?? null
  const place = declaredAt === null ? null : declaredPlace(declaredAt)
  return /\.[cm]?tsx?(?::\d+)?$/.test(place?.source ?? import.meta.url)
}
