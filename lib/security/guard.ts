import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  absoluteUrl, addVary, isRetrieval, namesHtml, preferredType, redirectPage, traceOf
} from 'fastify-hindsight/recorder'
import { stateOf } from '../state.js'
import { denialText } from './refusal.js'
import { Answer } from '../listener.js'
import type { Authenticator } from './authenticators.js'
import type { CompiledRule, Firewall } from './firewall.js'
import { userOf, type SecurityContext } from './context.js'
import { AccessDeniedError, AuthenticationError } from './errors.js'
import { hasSession, updateLogin, readLogin, stampOf } from './login-session.js'
import type { StoredUser } from './users.js'

/** Recognizes the user by the credentials of the request, or by its session; undefined if it has neither. */
export function recognizeUser (context: SecurityContext, firewall: Firewall): Promise<void> | undefined {
  const { request } = context
  const { authenticators, login } = firewall
  for (const authenticator of authenticators) {
    if (authenticator.supports(request)) return authenticate(context, firewall, authenticator)
    context.skip(authenticator.name)
  }
  if (login === null) return
  if (hasSession(request)) return recognizeSession(context, firewall)
  context.skip('session')
}

async function authenticate (
  context: SecurityContext, firewall: Firewall, authenticator: Authenticator
): Promise<void> {
  const { request, attempts } = context
  const { name } = authenticator
  try {
    const found = await authenticator.authenticate(request)
    const user = typeof found === 'string' ? await loadUser(found, firewall) : found
    if (user === null || user === undefined) {
      throw AuthenticationError.invalid(typeof found === 'string' ? 'no such user' : 'no user has these credentials')
    }
    if (typeof user.identifier !== 'string' || user.identifier === '') {
      throw new TypeError(`The authenticator "${name}" has returned a user without an identifier`)
    }
    context.login(user, name)
    stateOf(request).credentialsUsed = true
    request.log.debug({ channel: 'security', authenticator: name, user: user.identifier }, 'Authenticator succeeded.')
  } catch (error) {
    attempts.push({ name, outcome: 'failed', reason: AuthenticationError.reasonOf(error) })
    request.log.info({ channel: 'security', authenticator: name }, 'Authenticator failed.')
    throw error instanceof AuthenticationError ? withChallenges(error, firewall, true) : error
  }
}

/** Loads the user whose identifier an authenticator has returned. */
async function loadUser (identifier: string, { name, provider }: Firewall): Promise<StoredUser | null | undefined> {
  if (provider !== null) return await provider.load(identifier)
  throw new Error('An authenticator has returned an identifier, and there is no provider that finds its user: set ' +
    `provider of the firewall "${name}", or return a user`)
}

/** Recognizes the user of the session, as the provider returns it now. */
async function recognizeSession (context: SecurityContext, firewall: Firewall): Promise<void> {
  const { request, attempts } = context
  const login = readLogin(request, firewall)
  context.sessionRead = true
  if (login.user === undefined) return context.skip('session')
  const { identifier, stamp } = login.user
  const user = await firewall.provider?.load(identifier) ?? null
  if (user !== null && stampOf(user) === stamp) return context.login(user, 'session')
  updateLogin(request, firewall, { user: undefined })
  const reason = user === null ? 'the user does not exist any more' : 'the password has changed'
  attempts.push({ name: 'session', outcome: 'failed', reason })
}

/** Applies an access rule to a request: refuses it unless one of the roles is granted. */
export async function enforceRule (
  context: SecurityContext, { facts }: CompiledRule, reply: FastifyReply
): Promise<Answer | undefined> {
  let granted = false
  for (const role of facts.roles) granted ||= await context.isGranted(role, undefined, 'access_control')
  context.rule = { ...facts, granted }
  return granted ? undefined : refuseRequest(context, reply)
}

/** Refuses a request: 403 for a user, a redirect to the login for a browser without one, and otherwise 401. */
export function refuseRequest (context: SecurityContext, reply: FastifyReply): Answer {
  const { request, firewall, expression } = context
  // The cause is the error of an expression that could not be evaluated.
  const options = expression?.error === undefined ? {} : { cause: expression.error }
  if (userOf(request) !== null || firewall === null) throw accessDenied(context, options)
  const { login } = firewall
  if (login !== null && isNavigation(request) && isRetrieval(request)) {
    const target = request.raw.url ?? '/'
    if (request.method === 'GET' && isLocalPath(target)) updateLogin(request, firewall, { target })
    // The redirect is for this client until it has logged in, whatever the route declares about its own response.
    addVary(reply, 'Accept, Cookie')
    const location = locationOf(request, login.loginPath)
    reply.code(302).headers({ location, 'cache-control': 'no-cache, private' }).type('text/html; charset=utf-8')
    return new Answer(redirectPage(location))
  }
  const message = 'Full authentication is required to access this resource.'
  const error = withChallenges(new AuthenticationError(message, options), firewall, false)
  // A 401 needs a challenge (RFC 9110, section 15.5.2).
  throw error.headers['www-authenticate'] === undefined ? accessDenied(context, options) : error
}

/** The error of a user who may not do something; `denied` says why, for the diagnostic page and the profile. */
function accessDenied ({ user, decisions }: SecurityContext, options: ErrorOptions): AccessDeniedError {
  const error = new AccessDeniedError('Access Denied.', options)
  const decision = decisions.findLast(({ granted }) => !granted)
  return user === null || decision === undefined
    ? error
    : Object.assign(error, { denied: `${user.identifier} ${denialText(decision)}` })
}

/** Adds the challenges of a firewall to an error; `refused`: the request had credentials, and they are wrong. */
export function withChallenges (error: AuthenticationError, firewall: Firewall, refused: boolean): AuthenticationError {
  const { name, authenticators, login } = firewall
  const challenges = authenticators.map((one) => one.challenge?.(refused)).filter((one) => one !== undefined)
  // No registered scheme is for forms; this one was proposed (draft-broyer-http-cookie-auth).
  if (login !== null) challenges.push(`Cookie realm="${name}", form-action="${login.loginPath}"`)
  if (challenges.length > 0) error.headers['www-authenticate'] = challenges.join(', ')
  return error
}

/** Whether a browser requests a page; false for the requests of scripts. */
export function isNavigation ({ headers }: FastifyRequest): boolean {
  const { accept = '', 'x-requested-with': requestedWith } = headers
  const types = ['text/html', 'application/json', 'application/problem+json']
  // All clients send `*/*`; a browser, or a script that loads pages, names HTML.
  return requestedWith !== 'XMLHttpRequest' && namesHtml(accept) && preferredType(accept, types) === 'text/html'
}

/** A path as a URL of this application's origin. */
export function locationOf (request: FastifyRequest, path: string): string {
  return absoluteUrl(traceOf(request).services.originOf(request), path)
}

/** Whether a path is not too long, and cannot be read as the URL of another origin (`//host`, `/\host`). */
export function isLocalPath (path: string): boolean {
  return /^\/(?![/\\])[^\\\s\p{Cc}]{0,2047}$/u.test(path)
}
