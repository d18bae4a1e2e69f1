import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ownHook } from '../lifecycle/listener.js'
import { servicesOf } from '../lifecycle/services.js'
import type { Firewall } from './compile.js'
import { contextOf } from './context.js'
import { AuthenticationError, InvalidCsrfTokenError } from './errors.js'
import { isLocalPath, isNavigation, locationOf, refuseCredentials } from './guard.js'
import { checkCsrfToken, csrfToken, keepLogin, peekLogin, renewSession, stampOf } from './login-session.js'
import type { Security } from './security.js'

/** The field of a form or query with the CSRF token. */
const CSRF_FIELD = '_csrf_token'
const BODY_LIMIT = 16 * 1024
const MAX_USERNAME = 254

/** The data of a login page. */
export interface LoginForm {
  /** The URL of the form. */
  action: string
  usernameField: string
  passwordField: string
  csrfField: string
  /** Empty if the firewall does not check tokens. */
  csrfToken: string
  /** The message of the last failed attempt, once; null without one. */
  error: string | null
  lastUsername: string
}

/**
 * Declares the login and logout routes of the firewalls. A login needs the body, which is parsed after the firewall
 * listener: so it is a route of its own, with a parser for forms that no other route receives.
 */
export async function loginRoutes (app: FastifyInstance, security: Security): Promise<void> {
  await app.register(async function securityRoutes (scope: FastifyInstance) {
    const form = 'application/x-www-form-urlencoded'
    if (scope.hasContentTypeParser(form)) scope.removeContentTypeParser(form)
    await scope.register(formbody, { bodyLimit: BODY_LIMIT })
    // Looked up for each error: the application sets its handler later.
    const errorHandler = ownHook<FastifyInstance['errorHandler']>((error, request, reply) =>
      app.errorHandler(error, request, reply))
    for (const firewall of security.firewalls) {
      const { name, login, logout } = firewall
      if (login !== null) {
        const options = { config: { name: `_login_${name}` }, bodyLimit: BODY_LIMIT, errorHandler }
        scope.post(login.checkPath, options, (request, reply) => logIn(firewall, login, request, reply))
      }
      if (logout !== null) {
        scope.route({
          method: ['GET', 'POST'],
          url: logout.path,
          exposeHeadRoute: false,
          config: { name: `_logout_${name}` },
          errorHandler,
          handler: (request, reply) => logOut(firewall, logout, request, reply)
        })
      }
    }
  })
}

async function logIn (
  firewall: Firewall, login: NonNullable<Firewall['login']>, request: FastifyRequest, reply: FastifyReply
): Promise<unknown> {
  const { name } = firewall
  const { usernameField, passwordField } = login
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
  const { [usernameField]: username, [passwordField]: password } = fieldsOf(request.body)
  const context = contextOf(request)
  try {
    if (login.csrf) checkCsrfToken(request, purposeOf('login', name), tokenOf(request))
    if (typeof username !== 'string' || typeof password !== 'string' || firewall.verify === null) {
      throw AuthenticationError.invalid(`the body lacks the fields ${usernameField} and ${passwordField}`)
    }
    const user = await firewall.verify(request, username, password)
    const { identifier, roles = [] } = user
    const target = request.session._security?.[name]?.target ?? ''
    await renewSession(request)
    const kept = { identifier, stamp: stampOf(user) }
    keepLogin(request, firewall, { user: kept, target: undefined, failure: undefined })
    context?.login(user, { name: 'login' })
    context?.attempts.push({ name: 'login', outcome: 'succeeded' })
    request.log.info({ channel: 'security', user: identifier }, 'User logged in.')
    if (!isForm) return { identifier, roles }
    return await reply.redirect(locationOf(request, isLocalPath(target) ? target : login.defaultTargetPath), 302)
  } catch (error) {
    context?.attempts.push({ name: 'login', outcome: 'failed', reason: AuthenticationError.reasonOf(error) })
    const isRefused = error instanceof AuthenticationError
    if (!isRefused && !(error instanceof InvalidCsrfTokenError)) throw error
    request.log.info({ channel: 'security' }, 'Login failed.')
    if (!isForm || !isNavigation(request)) throw isRefused ? refuseCredentials(error, firewall) : error
    const lastUsername = typeof username === 'string' ? username.slice(0, MAX_USERNAME) : ''
    keepLogin(request, firewall, { failure: { message: error.message, username: lastUsername } })
    return await reply.redirect(locationOf(request, login.loginPath), 302)
  }
}

async function logOut (
  firewall: Firewall, logout: NonNullable<Firewall['logout']>, request: FastifyRequest, reply: FastifyReply
): Promise<unknown> {
  const { name, cookieName } = firewall
  if (logout.csrf) checkCsrfToken(request, purposeOf('logout', name), tokenOf(request))
  if (servicesOf(request).cookiesOf(request)[cookieName] !== undefined) {
    const { cookie: { path = '/', domain } } = request.session
    await request.session.destroy()
    reply.clearCookie(cookieName, { path, ...(domain !== undefined && { domain }) })
  }
  request.log.info({ channel: 'security' }, 'User logged out.')
  return await reply.redirect(locationOf(request, logout.target), 302)
}

/** The data of the login page of a request's firewall; throws if the firewall has no login. */
export function loginForm (request: FastifyRequest): LoginForm {
  const firewall = contextOf(request)?.firewall ?? null
  if (firewall === null) throw new Error('request.loginForm(): no firewall protects this path')
  const { name, login } = firewall
  if (login === null) throw new Error(`request.loginForm(): the firewall "${name}" has no login`)
  const { failure } = peekLogin(request, firewall)
  if (failure !== undefined) keepLogin(request, firewall, { failure: undefined })
  const { checkPath: action, usernameField, passwordField, csrf } = login
  return {
    action,
    usernameField,
    passwordField,
    csrfField: CSRF_FIELD,
    csrfToken: csrf ? csrfToken(request, purposeOf('login', name)) : '',
    error: failure?.message ?? null,
    lastUsername: failure?.username ?? ''
  }
}

/** The path that ends the session, with a CSRF token if the firewall requires one; null without a logout. */
export function logoutPathOf (request: FastifyRequest): string | null {
  const firewall = contextOf(request)?.firewall ?? null
  if (firewall === null || firewall.logout === null) return null
  const { path, csrf } = firewall.logout
  if (!csrf) return path
  return `${path}?${CSRF_FIELD}=${encodeURIComponent(csrfToken(request, purposeOf('logout', firewall.name)))}`
}

/** The purpose of a CSRF token: that of a login is invalid for a logout. */
function purposeOf (action: 'login' | 'logout', firewall: string): string {
  return `${action}:${firewall}`
}

function fieldsOf (given: unknown): Record<string, unknown> {
  return typeof given === 'object' && given !== null ? given as Record<string, unknown> : {}
}

function tokenOf ({ body, query, headers }: FastifyRequest): unknown {
  return fieldsOf(body)[CSRF_FIELD] ?? headers['x-csrf-token'] ?? fieldsOf(query)[CSRF_FIELD]
}
