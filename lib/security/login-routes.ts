import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ownHook } from '../lifecycle/listener.js'
import { servicesOf } from '../lifecycle/services.js'
import type { Credentials } from './credentials.js'
import { contextOf } from './context.js'
import { checkCsrfToken } from './csrf.js'
import { isLocalPath, isNavigation, locationOf, refuseCredentials } from './entry-point.js'
import { AuthenticationError, INVALID_CREDENTIALS, InvalidCsrfTokenError } from './errors.js'
import type { Firewall, LoginSettings, LogoutSettings } from './firewall.js'
import type { Security } from './security.js'
import { keepLogin, renewSession, stampOf } from './session-login.js'

/** The field, of a form or of a query, that brings a CSRF token. */
export const CSRF_FIELD = '_csrf_token'

const BODY_LIMIT = 16 * 1024
const MAX_USERNAME = 254

/**
 * Declares the routes at which firewalls answer themselves. A login needs the body, which nobody has parsed when the
 * firewall listener runs: so it is a route of its own, with a parser for forms that no other route gets.
 */
export async function loginRoutes (app: FastifyInstance, security: Security): Promise<void> {
  await app.register(async function securityRoutes (scope: FastifyInstance) {
    if (scope.hasContentTypeParser('application/x-www-form-urlencoded')) scope.removeContentTypeParser('application/x-www-form-urlencoded')
    await scope.register(formbody, { bodyLimit: BODY_LIMIT })
    // Fastify would take what is set now, and the application sets its own later.
    const errorHandler = ownHook<FastifyInstance['errorHandler']>((error, request, reply) => app.errorHandler(error, request, reply))
    for (const firewall of security.firewalls) {
      const { name, login, logout, credentials } = firewall
      if (login !== null) {
        scope.post(login.checkPath, { config: { name: `_login_${name}` }, bodyLimit: BODY_LIMIT, errorHandler }, (request, reply) =>
          check(security, firewall, login, credentials as Credentials, request, reply))
      }
      if (logout !== null) {
        scope.route({
          method: ['GET', 'POST'],
          url: logout.path,
          exposeHeadRoute: false,
          config: { name: `_logout_${name}` },
          errorHandler,
          handler: (request, reply) => end(security, firewall, logout, request, reply)
        })
      }
    }
  })
}

async function check (security: Security, firewall: Firewall, login: Required<LoginSettings>, credentials: Credentials, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { name } = firewall
  const fields = fieldsOf(request.body)
  const username = fields[login.usernameField]
  const attempts = contextOf(request)?.record?.authenticators
  try {
    if (login.csrf) checkCsrfToken(request, purposeOf('login', name), tokenOf(request, fields))
    const password = fields[login.passwordField]
    if (typeof username !== 'string' || typeof password !== 'string') {
      throw new AuthenticationError(INVALID_CREDENTIALS).because(`the body lacks the fields ${login.usernameField} and ${login.passwordField}`)
    }
    const user = await credentials.verify(request, username, password)
    const mark = await firewall.marks?.current(user.identifier) ?? ''
    const target = request.session._security?.[name]?.target
    await renewSession(request)
    keepLogin(request, name, { user: { identifier: user.identifier, stamp: stampOf(user), ...(mark !== '' && { mark }) }, target: undefined, failure: undefined })
    contextOf(request)?.login(user, { name: 'login' }, security.rolesOf)
    attempts?.push({ name: 'login', outcome: 'succeeded' })
    request.log.info({ channel: 'security', user: user.identifier }, 'User logged in.')
    if (!isForm(request)) return { identifier: user.identifier, roles: user.roles ?? [] }
    return await reply.redirect(locationOf(request, target !== undefined && isLocalPath(target) ? target : login.defaultTargetPath), 302)
  } catch (error) {
    const refused = error instanceof AuthenticationError
    attempts?.push({ name: 'login', outcome: 'failed', reason: refused ? AuthenticationError.reasonOf(error) : (error as Error).message })
    if (!refused && !(error instanceof InvalidCsrfTokenError)) throw error
    request.log.info({ channel: 'security' }, 'Login failed.')
    if (!isForm(request) || !isNavigation(request)) throw refused ? refuseCredentials(error, firewall, security.cookieName) : error
    keepLogin(request, name, { failure: { message: error.message, username: typeof username === 'string' ? username.slice(0, MAX_USERNAME) : '' } })
    return await reply.redirect(locationOf(request, login.loginPath), 302)
  }
}

async function end (security: Security, { name, marks }: Firewall, logout: Required<LogoutSettings>, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  if (logout.csrf) checkCsrfToken(request, purposeOf('logout', name), tokenOf(request, fieldsOf(request.body)) ?? fieldsOf(request.query)[CSRF_FIELD])
  if (servicesOf(request).cookiesOf(request)[security.cookieName] !== undefined) {
    const { cookie: { path = '/', domain }, _security: kept } = request.session
    const identifier = kept?.[name]?.user?.identifier
    if (logout.everywhere && identifier !== undefined) await marks?.renew(identifier)
    await request.session.destroy()
    reply.clearCookie(security.cookieName, { path, ...(domain !== undefined && { domain }) })
  }
  request.log.info({ channel: 'security' }, 'User logged out.')
  return await reply.redirect(locationOf(request, logout.target), 302)
}

/** What a CSRF token of a firewall is for; one is no good for the other. */
export function purposeOf (action: 'login' | 'logout', firewall: string): string {
  return `${action}:${firewall}`
}

function fieldsOf (body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null ? body as Record<string, unknown> : {}
}

function tokenOf ({ headers }: FastifyRequest, fields: Record<string, unknown>): unknown {
  return fields[CSRF_FIELD] ?? headers['x-csrf-token']
}

function isForm ({ headers }: FastifyRequest): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')
}
