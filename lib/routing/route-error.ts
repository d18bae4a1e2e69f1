import type { FastifyReply, FastifyRequest } from 'fastify'
import { joinedHeader } from '../http/header-text.js'
import {
  MAX_OWN_CALLS, MethodLookupError, MethodNotAllowedError, NotFoundError, ResourceNotFoundError
} from '../http/http-errors.js'
import { absoluteUrl, type Origin } from '../http/origin.js'
import { isRetrieval, pathnameOf, targetOf } from '../http/request-target.js'
import { recordingOf, stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { withStackLimit } from '../stack-limit.js'

declare module '../recording/recording.js' {
  interface Recording {
    /** Whether a response began to pass the hooks. */
    wasSent?: boolean
    /** The error of a request that matched a route, and for which `reply.callNotFound()` was called. */
    declined?: NotFoundError
  }
}

/** Calls of a stack that begins with those of the application. */
const MAX_CALLS = 50

/** Why no route matched a request: an error to throw, or a redirect. */
export type NoMatch = { error: Error } | { redirect: string }

/**
 * Explains why a request is not found: it matched no route, as in section 7 of the observed document, or
 * `reply.callNotFound()` was called for it.
 */
export function explainNoMatch (request: FastifyRequest): NoMatch {
  const { routeTable } = servicesOf(request)
  const { method } = request
  const path = pathnameOf(request)
  const { recording, route } = stateOf(request)
  if (route !== null) return { error: (recording.declined ??= declined(request, `${method} ${route.pattern}`)) }
  const { allowed, redirect } = routeTable.lookup(path, request)
  // A refused message is not routed by its path, which may have a route for its method.
  if (allowed.length > 0 && !allowed.includes(method)) return { error: methodNotAllowed(request, path, allowed) }
  // A client repeats a request of another method as GET, without its body (RFC 9110, section 15.4.2).
  if (redirect === null || !isRetrieval(request)) return { error: notFound(request, path) }
  return { redirect: locationOf(request, redirect.path, redirect.httpsOnly) }
}

/** The error of a request that is answered like one that is not found; null for other requests. */
export function routeErrorOf (request: FastifyRequest, reply: FastifyReply): Error | null {
  if (reply.statusCode !== 404 || stateOf(request).failed || !request.is404) return null
  const why = explainNoMatch(request)
  return 'error' in why ? why.error : notFound(request)
}

/** Why a request without TLS does not reach a route for HTTPS only: a redirect, or not found. */
export function explainInsecure (request: FastifyRequest): NoMatch {
  const path = pathnameOf(request)
  if (isRetrieval(request)) return { redirect: locationOf(request, path, true) }
  return { error: notFound(request, path, ': the path has routes for HTTPS only') }
}

function locationOf (request: FastifyRequest, path: string, needsHttps: boolean): string {
  const origin = servicesOf(request).originOf(request)
  const isMoved = needsHttps && origin.scheme === 'http'
  const target: Origin = isMoved ? { ...origin, scheme: 'https', authority: origin.host } : origin
  return absoluteUrl(target, path) + targetOf(request).slice(pathnameOf(request).length)
}

/** The not-found error of a request, whether or not it matched a route; `reason` ends the message of its cause. */
export function notFound (request: FastifyRequest, path = pathnameOf(request), reason = ''): NotFoundError {
  return create(request, () => {
    const referer = joinedHeader(request.raw.rawHeaders, 'referer')
    const from = referer.trim() === '' ? '' : ` (from "${referer}")`
    const cause = new ResourceNotFoundError(`No routes found for "${withSlash(path)}"${reason}`)
    return new NotFoundError(messageOf(request, path) + from, { cause })
  })
}

function declined (request: FastifyRequest, route: string): NotFoundError {
  const { isRecording, timing, wasSent } = recordingOf(request)
  // Hooks of the route itself run when the start of its handler has been recorded.
  const hasHook = servicesOf(request).routeTable.of(request)?.hooks.includes('preHandler') === true
  const handler = hasHook ? 'a hook or its handler' : 'its handler'
  const caller = stateOf(request).failed ? 'an error handler' : timing.handlerStart === 0 ? 'a hook' : handler
  const why = isRecording ? `${caller} called reply.callNotFound()` : 'reply.callNotFound() was called'
  const after = wasSent === true ? ' after a response had been sent' : ''
  const error = create(request, () => new NotFoundError(`${route} declined: ${why}${after}`))
  // The first frames are those of the caller, which come after those of the hooks of the second pass.
  if (isRecording) withStackLimit(MAX_CALLS, () => Error.captureStackTrace(error, explainNoMatch))
  return error
}

function methodNotAllowed (request: FastifyRequest, path: string, allowed: readonly string[]): MethodNotAllowedError {
  return create(request, () => {
    const list = allowed.join(', ')
    const cause = new MethodLookupError(
      `No routes found for "${request.method} ${withSlash(path)}": the path has routes for ${list}`
    )
    const error = new MethodNotAllowedError(
      `${messageOf(request, path)}: Method Not Allowed (Allow: ${list})`, { cause }
    )
    error.headers.allow = list
    return error
  })
}

function messageOf (request: FastifyRequest, path: string): string {
  return `No route found for "${request.method} ${absoluteUrl(servicesOf(request).originOf(request), path)}"`
}

function withSlash (path: string): string {
  return path.endsWith('/') ? path : `${path}/`
}

function create<E extends Error> (request: FastifyRequest, make: () => E): E {
  return withStackLimit(servicesOf(request).recording === 'none' ? 0 : MAX_OWN_CALLS, make)
}
