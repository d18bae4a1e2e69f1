import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { internalHook } from 'fastify-hindsight/recorder'
import type { Firewall } from './firewall.js'
import { securityContextOf } from './context.js'
import { AuthenticationError, InvalidCsrfTokenError } from './errors.js'
import { isLocalPath, isNavigation, locationOf, withChallenges } from './guard.js'
import {
  checkCsrfToken, csrfToken, hasSession, readLogin, renewSession, stampOf, updateLogin
} from './login-session.js'
import type { Security } from './compile.js'
import { serviceOf } from '../state.js'

const CSRF_FIELD = '_csrf_token'
const BODY_LIMIT = 16 * 1024

/** The data of a login page, whose form has the fields `_username`, `_password` and `_csrf_token`. */
export type LoginForm = ReturnType<typeof loginForm>

/** Declares the login and logout routes of the firewalls, as the body is parsed after the firewall listener. */
export async function loginRoutes (app: FastifyInstance, security: Security): Promise<void> {
  await app.register(async function securityRoutes (scope: FastifyInstance) {
    const form = 'application/x-www-form-urlencoded'
    if (scope.hasContentTypeParser(form)) scope.removeContentTypeParser(form)
    await scope.register(formbody, { bodyLimit: BODY_LIMIT })
    // Looked up for each error: the application sets its handler later.
    const errorHandler = internalHook<FastifyInstance['errorHandler']>((error, request, reply) =>
      app.errorHandler(error, request, reply))
    for (const firewall of security.firewalls) {
      const { name, login, logout } = firewall
      if (login !== null) {
        const options = { config: { name: `_login_${name}` }, bodyLimit: BODY_LIMIT, errorHandler }
        scope.post(login.loginPath, options, (request, reply) => logIn(firewall, login, request, reply))
      }
      if (logout !== null) {
        const options = { config: { name: `_logout_${name}` }, exposeHeadRoute: false, errorHandler }
        const handler = (request: FastifyRequest, reply: FastifyReply) => logOut(firewall, logout, request, reply)
        scope.route({ method: ['GET', 'POST'], url: logout.path, ...options, handler })
      }
    }
  })
}

async function logIn (
  firewall: Firewall, login: NonNullable<Firewall['login']>, request: FastifyRequest, reply: FastifyReply
): Promise<unknown> {
  const { name } = firewall
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
  const { _username: username, _password: password } = fieldsOf(request.body)
  const context = securityContextOf(request)
  try {
    if (login.csrf) checkCsrfToken(request, `login:${name}`, tokenOf(request))
    if (typeof username !== 'string' || typeof password !== 'string' || firewall.verify === null) {
      throw AuthenticationError.invalid('the body lacks the fields _username and _password')
    }
    const user = await firewall.verify(request, username, password)
    const { identifier, roles = [] } = user
    const target = request.session._security?.[name]?.target ?? ''
    await renewSession(request)
    const kept = { identifier, stamp: stampOf(user) }
    updateLogin(request, firewall, { user: kept, target: undefined, failure: undefined })
    context?.login(user, 'login')
    request.log.info({ channel: 'security', user: identifier }, 'User logged in.')
    if (!isForm) return { identifier, roles }
    return await reply.redirect(locationOf(request, isLocalPath(target) ? target : login.defaultTargetPath), 302)
  } catch (error) {
    context?.attempts.push({ name: 'login', outcome: 'failed', reason: AuthenticationError.reasonOf(error) })
    const isRefused = error instanceof AuthenticationError
    if (!isRefused && !(error instanceof InvalidCsrfTokenError)) throw error
    request.log.info({ channel: 'security' }, 'Login failed.')
    if (!isForm || !isNavigation(request)) throw isRefused ? withChallenges(error, firewall, true) : error
    updateLogin(request, firewall, { failure: error.message })
    return await reply.redirect(locationOf(request, login.loginPath), 302)
  }
}

async function logOut (
  firewall: Firewall, logout: NonNullable<Firewall['logout']>, request: FastifyRequest, reply: FastifyReply
): Promise<unknown> {
  if (logout.csrf) checkCsrfToken(request, `logout:${firewall.name}`, tokenOf(request))
  if (hasSession(request)) {
    const { cookie: { path = '/', domain } } = request.session
    await request.session.destroy()
    reply.clearCookie(serviceOf(request).sessionCookie ?? '', { path, ...(domain !== undefined && { domain }) })
  }
  request.log.info({ channel: 'security' }, 'User logged out.')
  return await reply.redirect(locationOf(request, logout.target), 302)
}

/** The URL of the form, its CSRF token, and the last failure, once. Throws if the firewall has no login. */
export function loginForm (request: FastifyRequest) {
  const firewall = securityContextOf(request)?.firewall
  if (!firewall?.login) throw new Error('request.loginForm(): no firewall with a login protects this path')
  const { name, login: { loginPath, csrf } } = firewall
  const { failure = null } = readLogin(request, firewall)
  if (failure !== null) updateLogin(request, firewall, { failure: undefined })
  return { action: loginPath, csrfToken: csrf ? csrfToken(request, `login:${name}`) : '', error: failure }
}

/** The path that ends the session, with a CSRF token if the firewall requires one; null without a logout. */
export function logoutPathOf (request: FastifyRequest): string | null {
  const firewall = securityContextOf(request)?.firewall
  if (!firewall?.logout) return null
  const { name, logout: { path, csrf } } = firewall
  return csrf ? `${path}?${CSRF_FIELD}=${csrfToken(request, `logout:${name}`)}` : path
}

function fieldsOf (given: unknown): Record<string, unknown> {
  return typeof given === 'object' && given !== null ? given as Record<string, unknown> : {}
}

function tokenOf ({ body, query, headers }: FastifyRequest): unknown {
  return fieldsOf(body)[CSRF_FIELD] ?? headers['x-csrf-token'] ?? fieldsOf(query)[CSRF_FIELD]
}
