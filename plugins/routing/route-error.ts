import type { FastifyRequest } from 'fastify'
import {
  MethodLookupError, MethodNotAllowedError, NotFoundError, ResourceNotFoundError
} from '../kernel/http-errors.js'
import { joinedHeader } from '../kernel/header-text.js'
import { methodOf } from '../kernel/malformed.js'
import { absoluteUrl, pathnameOf, targetOf } from '../kernel/origin.js'

/** Why no route took a request: an error to raise, or where else to look. */
export type RouteMiss = { error: Error } | { redirect: string }

/**
 * Explains why a request matched no route, in the words of section 7 of the observed document:
 * not found, method not allowed (with its `Allow`), or a redirect to the other trailing-slash form.
 */
export function explainMiss (request: FastifyRequest): RouteMiss {
  const { hindsight: { originOf }, routeTable } = request.server
  const method = methodOf(request)
  const path = pathnameOf(request)
  const { allowed, redirect } = routeTable.lookup(path, request)
  const origin = originOf(request)
  const missed = `No route found for "${method} ${absoluteUrl(origin, path)}"`
  const lookup = path.endsWith('/') ? path : `${path}/`
  // A handler that calls itself not found is just that.
  if (allowed.length > 0 && !allowed.includes(method)) {
    const list = allowed.join(', ')
    const cause = new MethodLookupError(`No routes found for "${method} ${lookup}": the path has routes for ${list}`)
    const error = new MethodNotAllowedError(`${missed}: Method Not Allowed (Allow: ${list})`, { cause })
    error.headers.allow = list
    return { error }
  }
  if (redirect !== null && (method === 'GET' || method === 'HEAD')) {
    return { redirect: absoluteUrl(origin, redirect) + targetOf(request).slice(path.length) }
  }
  return { error: notFound(request) }
}

/** The not-found error of a request, whether no route took it or the one that did has nothing at its URL. */
export function notFound (request: FastifyRequest): NotFoundError {
  const path = pathnameOf(request)
  const method = methodOf(request)
  const missed = `No route found for "${method} ${absoluteUrl(request.server.hindsight.originOf(request), path)}"`
  const referer = joinedHeader(request.raw.rawHeaders, 'referer')
  const from = referer.trim() === '' ? '' : ` (from "${referer}")`
  const cause = new ResourceNotFoundError(`No routes found for "${path.endsWith('/') ? path : `${path}/`}"`)
  return new NotFoundError(missed + from, { cause })
}
