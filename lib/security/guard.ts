import type { FastifyReply, FastifyRequest } from 'fastify'
import vary from 'vary'
import { namesHtml, preferredType } from '../http/accept.js'
import { absoluteUrl } from '../http/origin.js'
import { Answer } from '../lifecycle/listener.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { redirectPage } from '../view/html.js'
import type { CompiledRule } from './access-control.js'
import { challengeOf, type Authenticator } from './authenticators.js'
import type { Firewall } from './compile.js'
import { userOf, type RecordedAttempt, type SecurityContext } from './context.js'
import { AccessDeniedError, AuthenticationError } from './errors.js'
import { keepLogin, peekLogin, stampOf } from './login-session.js'

/**
 * Recognizes the user of a request: by its credentials, otherwise by its session. Returns undefined if the request has
 * neither.
 */
export function recognize (context: SecurityContext, firewall: Firewall): Promise<void> | undefined {
  const { request, attempts } = context
  const { authenticators, login, cookieName } = firewall
  const used = authenticators.findIndex((authenticator) => authenticator.supports(request))
  for (const [i, { name }] of authenticators.entries()) {
    attempts.push({ name, outcome: used !== -1 && i > used ? 'not reached' : 'not supported' })
  }
  if (login !== null) attempts.push({ name: 'session', outcome: used === -1 ? 'not supported' : 'not reached' })
  const authenticator = authenticators[used]
  if (authenticator !== undefined) return authenticate(context, firewall, authenticator, used)
  const hasSession = login !== null && servicesOf(request).cookiesOf(request)[cookieName] !== undefined
  return hasSession ? recognizeSession(context, firewall) : undefined
}

async function authenticate (
  context: SecurityContext, firewall: Firewall, authenticator: Authenticator, index: number
): Promise<void> {
  const { request, attempts } = context
  const { name } = authenticator
  try {
    const found = await authenticator.authenticate(request)
    const user = typeof found === 'string' ? await firewall.provider?.load(found) : found
    if (user === null || user === undefined) {
      throw AuthenticationError.invalid(typeof found === 'string' ? 'no such user' : 'no user has these credentials')
    }
    context.login(user, authenticator)
    stateOf(request).credentialsUsed = true
    attempts[index] = { name, outcome: 'succeeded' }
    request.log.debug({ channel: 'security', authenticator: name, user: user.identifier }, 'Authenticator succeeded.')
  } catch (error) {
    attempts[index] = { name, outcome: 'failed', reason: AuthenticationError.reasonOf(error) }
    request.log.info({ channel: 'security', authenticator: name }, 'Authenticator failed.')
    throw error instanceof AuthenticationError ? refuseCredentials(error, firewall) : error
  }
}

/** Recognizes the user of the session, as the provider returns it now. */
async function recognizeSession (context: SecurityContext, firewall: Firewall): Promise<void> {
  const { request, attempts } = context
  const login = peekLogin(request, firewall)
  context.sessionRead = true
  const record = (outcome: RecordedAttempt['outcome'], reason?: string): void => {
    attempts.splice(-1, 1, { name: 'session', outcome, ...(reason !== undefined && { reason }) })
  }
  if (login.user === undefined) return record('not supported', 'no user is logged in')
  const { identifier, stamp } = login.user
  const user = await firewall.provider?.load(identifier) ?? null
  if (user !== null && stampOf(user) === stamp) {
    context.login(user, { name: 'session' })
    return record('succeeded')
  }
  keepLogin(request, firewall, { user: undefined })
  record('failed', user === null ? 'the user does not exist any more' : 'the password has changed')
}

/** Applies an access rule to a request: refuses it unless one of the roles is granted. */
export async function enforce (
  context: SecurityContext, { facts }: CompiledRule, reply: FastifyReply
): Promise<Answer | undefined> {
  let granted = false
  for (const role of facts.roles) granted ||= await context.isGranted(role, undefined, 'access_control')
  context.rule = { ...facts, granted }
  return granted ? undefined : refuse(context, reply)
}

/**
 * Refuses a request: with 403 for a recognized user, with a redirect to the login for a browser without a user, and
 * with 401 and the challenges otherwise.
 */
export function refuse (context: SecurityContext, reply: FastifyReply, cause?: unknown): Answer {
  const { request, firewall, authenticator } = context
  const options = cause === undefined ? {} : { cause }
  if (userOf(request) !== null) {
    throw withChallenge(new AccessDeniedError('Access Denied.', options), authenticator?.insufficient?.() ?? '')
  }
  if (firewall?.login && isNavigation(request) && (request.method === 'GET' || request.method === 'HEAD')) {
    const target = request.raw.url ?? '/'
    if (request.method === 'GET' && isLocalPath(target)) keepLogin(request, firewall, { target })
    // The redirect is for this client until it has logged in, whatever the route declares about its own response.
    const varied = vary.append(String(reply.getHeader('vary') ?? ''), 'Accept, Cookie')
    const location = locationOf(request, firewall.login.loginPath)
    reply.code(302).header('location', location).type('text/html; charset=utf-8')
      .header('cache-control', 'no-cache, private').header('vary', varied)
    return new Answer(redirectPage(location))
  }
  const challenge = firewall === null ? '' : challengesOf(firewall, false)
  // A 401 needs a challenge (RFC 9110, section 15.5.2).
  if (challenge === '') throw new AccessDeniedError('Access Denied.', options)
  const message = 'Full authentication is required to access this resource.'
  throw withChallenge(new AuthenticationError(message, options), challenge)
}

function withChallenge<T extends AuthenticationError | AccessDeniedError> (error: T, challenge: string): T {
  if (challenge !== '') error.headers['www-authenticate'] = challenge
  return error
}

/** The challenges of a firewall; `refused`: the request had credentials, and they are wrong. */
function challengesOf ({ name, authenticators, login, cookieName }: Firewall, refused: boolean): string {
  const challenges = authenticators.map((one) => one.challenge?.(refused)).filter((one) => one !== undefined)
  if (login !== null) {
    // No registered scheme is for forms; this one was proposed (draft-broyer-http-cookie-auth).
    const parameters = { realm: name, 'form-action': login.checkPath, 'cookie-name': cookieName }
    challenges.push(challengeOf('Cookie', parameters))
  }
  return challenges.join(', ')
}

/** Adds the challenges of a firewall to the error for wrong credentials. */
export function refuseCredentials (error: AuthenticationError, firewall: Firewall): AuthenticationError {
  return withChallenge(error, challengesOf(firewall, true))
}

/** Whether a browser requests a page, and not a script data. */
export function isNavigation ({ headers }: FastifyRequest): boolean {
  const { accept = '' } = headers
  if (headers['x-requested-with'] === 'XMLHttpRequest') return false
  // All clients send `*/*`; a browser, or a script that loads pages, names HTML.
  const types = ['text/html', 'application/json', 'application/problem+json']
  return namesHtml(accept) && preferredType(accept, types) === 'text/html'
}

/** A path as a URL of this application's origin. */
export function locationOf (request: FastifyRequest, path: string): string {
  return absoluteUrl(servicesOf(request).originOf(request), path)
}

const MAX_TARGET = 2_048

/** Whether a path cannot be read as the URL of another origin (`//host`, `/\host`). */
export function isLocalPath (path: string): boolean {
  return path.length <= MAX_TARGET && /^\/(?![/\\])[^\\\s\p{Cc}]*$/u.test(path)
}
