import type { FastifyRequest } from 'fastify'
import {
  MethodLookupError, MethodNotAllowedError, NotFoundError, ResourceNotFoundError, withoutStack
} from '../http/http-errors.js'
import { joinedHeader } from '../http/header-text.js'
import { methodOf } from '../http/method-override.js'
import { absoluteUrl } from '../http/origin.js'
import { pathnameOf, targetOf } from '../http/request-target.js'
import { servicesOf } from '../lifecycle/services.js'

/** Why no route took a request: an error to raise, or where else to look. */
export type RouteMiss = { error: Error } | { redirect: string }

/**
 * Explains why a request matched no route, in the words of section 7 of the observed document:
 * not found, method not allowed (with its `Allow`), or a redirect to the other trailing-slash form.
 */
export function explainMiss (request: FastifyRequest): RouteMiss {
  const { originOf, routeTable } = servicesOf(request)
  const method = methodOf(request)
  const path = pathnameOf(request)
  const { allowed, redirect } = routeTable.lookup(path, request)
  // A handler that calls itself not found is just that.
  if (allowed.length > 0 && !allowed.includes(method)) return { error: made(request, () => methodNotAllowed(request, path, allowed)) }
  if (redirect !== null && (method === 'GET' || method === 'HEAD')) {
    return { redirect: absoluteUrl(originOf(request), redirect) + targetOf(request).slice(path.length) }
  }
  return { error: notFound(request, path) }
}

/** The not-found error of a request, whether no route took it or the one that did has nothing at its URL. */
export function notFound (request: FastifyRequest, path = pathnameOf(request)): NotFoundError {
  return made(request, () => {
    const referer = joinedHeader(request.raw.rawHeaders, 'referer')
    const from = referer.trim() === '' ? '' : ` (from "${referer}")`
    const cause = new ResourceNotFoundError(`No routes found for "${path.endsWith('/') ? path : `${path}/`}"`)
    return new NotFoundError(missed(request, path) + from, { cause })
  })
}

function methodNotAllowed (request: FastifyRequest, path: string, allowed: readonly string[]): MethodNotAllowedError {
  const list = allowed.join(', ')
  const cause = new MethodLookupError(`No routes found for "${methodOf(request)} ${path.endsWith('/') ? path : `${path}/`}": the path has routes for ${list}`)
  const error = new MethodNotAllowedError(`${missed(request, path)}: Method Not Allowed (Allow: ${list})`, { cause })
  error.headers.allow = list
  return error
}

function missed (request: FastifyRequest, path: string): string {
  return `No route found for "${methodOf(request)} ${absoluteUrl(servicesOf(request).originOf(request), path)}"`
}

// Where nothing is observed, what a client has got wrong is told by a line, which needs no stack.
function made<E extends Error> (request: FastifyRequest, make: () => E): E {
  const { observed } = servicesOf(request)
  return observed ? make() : withoutStack(make)
}
