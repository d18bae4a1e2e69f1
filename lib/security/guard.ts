import type { FastifyReply, FastifyRequest } from 'fastify'
import vary from 'vary'
import { namesHtml, preferredType } from '../http/accept.js'
import { absoluteUrl } from '../http/origin.js'
import { Answer } from '../lifecycle/listener.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { redirectPage } from '../view/html.js'
import type { CompiledRule } from './access-control.js'
import { challengeOf } from './authenticators.js'
import { userOf, type SecurityContext } from './context.js'
import { AccessDeniedError, AuthenticationError, INVALID_CREDENTIALS } from './errors.js'
import type { Firewall } from './firewall.js'
import { keepLogin, peekLogin, stampOf } from './login-session.js'

/** Recognizes the user of a request: by its credentials, otherwise by its session. */
export async function recognize (context: SecurityContext, firewall: Firewall): Promise<void> {
  const { request, record: { authenticators: attempts } } = context
  const { authenticators, login } = firewall
  const used = authenticators.findIndex((authenticator) => authenticator.supports(request))
  for (const [i, { name }] of authenticators.entries()) {
    attempts.push({ name, outcome: used !== -1 && i > used ? 'not reached' : 'not supported' })
  }
  if (login !== null) attempts.push({ name: 'session', outcome: used === -1 ? 'not supported' : 'not reached' })
  const authenticator = authenticators[used]
  if (authenticator === undefined) {
    if (login !== null) await recognizeSession(context, firewall)
    return
  }
  const { name } = authenticator
  const attempt = attempts[used] ?? {}
  try {
    const found = await authenticator.authenticate(request)
    const user = typeof found === 'string' ? await firewall.provider?.load(found) : found
    if (user === null || user === undefined) {
      const reason = typeof found === 'string' ? 'no such user' : 'no user has these credentials'
      throw new AuthenticationError(INVALID_CREDENTIALS).because(reason)
    }
    context.login(user, authenticator)
    stateOf(request).credentialsUsed = true
    Object.assign(attempt, { outcome: 'succeeded' })
    request.log.debug({ channel: 'security', authenticator: name, user: user.identifier }, 'Authenticator succeeded.')
  } catch (error) {
    const isRefused = error instanceof AuthenticationError
    const reason = isRefused ? AuthenticationError.reasonOf(error) : (error as Error)?.message ?? String(error)
    Object.assign(attempt, { outcome: 'failed', reason })
    request.log.info({ channel: 'security', authenticator: name }, 'Authenticator failed.')
    throw isRefused ? refuseCredentials(error, firewall) : error
  }
}

/** Recognizes the user of the session, as the provider returns it now. */
async function recognizeSession (context: SecurityContext, firewall: Firewall): Promise<void> {
  const { request } = context
  const kept = peekLogin(request, firewall)
  if (kept === null) return
  context.sessionRead = true
  const attempt = context.record.authenticators.at(-1) ?? {}
  if (kept.user === undefined) {
    Object.assign(attempt, { reason: 'no user is logged in' })
    return
  }
  const { identifier, stamp, mark = '' } = kept.user
  const user = await firewall.provider?.load(identifier) ?? null
  const current = await firewall.marks?.current(identifier) ?? ''
  if (user !== null && stampOf(user) === stamp && current === mark) {
    context.login(user, { name: 'session' })
    Object.assign(attempt, { outcome: 'succeeded' })
    return
  }
  keepLogin(request, firewall, { user: undefined })
  const changed = current === mark ? 'the password has changed' : 'all sessions of the user were ended'
  Object.assign(attempt, { outcome: 'failed', reason: user === null ? 'the user is gone' : changed })
}

/** Applies an access rule to a request: refuses it unless one of the roles is granted. */
export async function enforce (
  context: SecurityContext, rule: CompiledRule, reply: FastifyReply
): Promise<Answer | undefined> {
  const { index, path, roles, methods, ips } = rule
  let granted = false
  for (const role of roles) {
    granted ||= await context.security.isGranted(context, role, undefined, 'access_control')
  }
  context.record.rule = { index, path, methods: [...methods], ips: [...ips], roles: [...roles], granted }
  return granted ? undefined : refuse(context, reply)
}

/**
 * Refuses a request: with 403 for a recognized user, with a redirect to the login for a browser without a user, and
 * with 401 and the challenges otherwise.
 */
export function refuse (context: SecurityContext, reply: FastifyReply, cause?: unknown): Answer {
  const { request, firewall, authenticator } = context
  const options = cause === undefined ? [] as const : [{ cause }] as const
  if (userOf(request) !== null) {
    throw withChallenge(new AccessDeniedError('Access Denied.', ...options), authenticator?.insufficient?.() ?? '')
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
  if (challenge === '') throw new AccessDeniedError('Access Denied.', ...options)
  const message = 'Full authentication is required to access this resource.'
  throw withChallenge(new AuthenticationError(message, ...options), challenge)
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
