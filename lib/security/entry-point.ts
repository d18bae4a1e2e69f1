import type { FastifyReply, FastifyRequest } from 'fastify'
import vary from 'vary'
import { namesHtml, preferredType } from '../http/accept.js'
import { Answer } from '../lifecycle/listener.js'
import { absoluteUrl } from '../http/origin.js'
import { servicesOf } from '../lifecycle/services.js'
import { redirectPage } from '../view/redirect-page.js'
import { challengeOf } from './authenticators/authenticator.js'
import { userOf, type SecurityContext } from './context.js'
import { ACCESS_DENIED, AccessDeniedError, AUTHENTICATION_REQUIRED, AuthenticationError } from './errors.js'
import type { Firewall } from './firewall.js'
import { keepLogin } from './session-login.js'

/**
 * Refuses a request that may not pass: a user who is known with 403, a browser that nobody is known behind
 * with the way to the login, and everybody else with 401 and what would be accepted.
 */
export function refuse (request: FastifyRequest, reply: FastifyReply, context: SecurityContext, cookieName: string, cause?: unknown): Answer {
  const because = cause === undefined ? [] as const : [{ cause }] as const
  if (userOf(request) !== null) {
    const error = new AccessDeniedError(ACCESS_DENIED, ...because)
    const insufficient = context.authenticator?.insufficient?.()
    if (insufficient !== undefined) error.headers['www-authenticate'] = insufficient
    throw error
  }
  const { firewall } = context
  if (firewall?.login && isNavigation(request) && (request.method === 'GET' || request.method === 'HEAD')) {
    rememberTarget(request, firewall.name)
    // For this client, until it has logged in: whatever the route declares is about what it would have answered itself.
    reply.header('cache-control', 'no-cache, private').header('vary', vary.append(String(reply.getHeader('vary') ?? ''), 'Accept, Cookie'))
    return redirect(request, reply, firewall.login.loginPath)
  }
  const challenge = firewall === null ? '' : challengesOf(firewall, cookieName, false)
  // A 401 has a challenge (RFC 9110, section 15.5.2); where nothing would be accepted, it is none.
  if (challenge === '') throw new AccessDeniedError(ACCESS_DENIED, ...because)
  throw challenged(new AuthenticationError(AUTHENTICATION_REQUIRED, ...because), challenge)
}

/** Adds to an authentication error what would be accepted instead. */
export function refuseCredentials (error: AuthenticationError, firewall: Firewall, cookieName: string): AuthenticationError {
  return challenged(error, challengesOf(firewall, cookieName, true))
}

function challenged (error: AuthenticationError, challenge: string): AuthenticationError {
  if (challenge !== '') error.headers['www-authenticate'] = challenge
  return error
}

function challengesOf ({ name, authenticators, login }: Firewall, cookieName: string, refused: boolean): string {
  const challenges = authenticators.map((authenticator) => authenticator.challenge?.(refused)).filter((one) => one !== undefined)
  // No registered scheme is for forms; this is the one that was proposed (draft-broyer-http-cookie-auth).
  if (login !== null) challenges.push(challengeOf('Cookie', { realm: name, 'form-action': login.checkPath, 'cookie-name': cookieName }))
  return challenges.join(', ')
}

/** Whether a person with a browser is waiting for a page, rather than a script for data. */
export function isNavigation ({ headers }: FastifyRequest): boolean {
  const { accept = '' } = headers
  if (headers['x-requested-with'] === 'XMLHttpRequest') return false
  // `*/*` is what everybody sends; a browser, or a script that loads pages, names what it wants.
  return namesHtml(accept) && preferredType(accept, ['text/html', 'application/json', 'application/problem+json']) === 'text/html'
}

/** Sends a browser to a path of this application. */
export function redirect (request: FastifyRequest, reply: FastifyReply, path: string): Answer {
  const location = locationOf(request, path)
  reply.code(302).header('location', location).type('text/html; charset=utf-8')
  return new Answer(redirectPage(location))
}

/** A path as a URL of this application's origin. */
export function locationOf (request: FastifyRequest, path: string): string {
  return absoluteUrl(servicesOf(request).originOf(request), path)
}

// Only a page is worth going back to, and only the request itself says which.
function rememberTarget (request: FastifyRequest, firewall: string): void {
  const path = request.raw.url ?? '/'
  if (request.method === 'GET' && isLocalPath(path)) keepLogin(request, firewall, { target: path })
}

const MAX_TARGET = 2_048

/** Whether a path cannot be taken for the URL of another origin (`//host`, `/\host`). */
export function isLocalPath (path: string): boolean {
  return path.length <= MAX_TARGET && /^\/(?![/\\])[^\\\s\p{Cc}]*$/u.test(path)
}
