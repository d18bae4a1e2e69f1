import type { FastifyRequest } from 'fastify'
import { routeConfigOf } from 'fastify-hindsight/recorder'
import { stateOf } from '../lib/state.js'
import { defineListener, Skip } from '../lib/listener.js'
import { securityContextOf, userOf } from '../lib/security/context.js'
import type { SessionLogin } from '../lib/security/login-session.js'
import type { LoginForm } from '../lib/security/login.js'
import type { User } from '../lib/security/users.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The user who sent the request, or null. Reading the user of a session makes the response private. */
    readonly user: User | null
    /** Whether the user has a role, or may do something with a subject, as the voters see it. */
    isGranted (attribute: string, subject?: unknown): Promise<boolean>
    /** The data of a login page; the message of a failed login is returned once. */
    loginForm (): LoginForm
  }
  interface Session {
    /** The data of each firewall, by its name. */
    _security?: Record<string, SessionLogin>
    /** The secret of the session's CSRF tokens. */
    _csrf?: string
  }
}

const noFirewall = new Skip('no firewall for this path')
const unguarded = new Skip('the firewall has security: false')
const anonymous = new Skip('the request has no credentials, and needs none')

/** Recognizes the user of a request, and applies the access rule of its path. */
export const firewall = defineListener('kernel.request', 'firewall', async (app) => {
  const { security } = app.service
  if (security === undefined) return 'not configured'
  const { enforceRule, recognizeUser } = await import('../lib/security/guard.js')
  const { loginForm, loginRoutes } = await import('../lib/security/login.js')
  app.decorateRequest('user', { getter (this: FastifyRequest) { return userOf(this) } } as never)
  app.decorateRequest('isGranted', async function isGranted (this: FastifyRequest, attribute, subject) {
    return await securityContextOf(this)?.isGranted(attribute, subject, 'request.isGranted') ?? false
  })
  app.decorateRequest('loginForm', function (this: FastifyRequest) { return loginForm(this) })
  await loginRoutes(app, security)
  return (request, reply) => {
    // The pages of the profiler have rules of access of their own.
    if (routeConfigOf(request)?.debugOnly === true) return unguarded
    const context = security.contextFor(request)
    const { firewall, path } = context
    if (firewall?.facts.security === false) return unguarded
    // Rules that apply to the login page would redirect browsers in a circle.
    const rule = firewall?.answeredPaths.includes(path) === true ? null : security.ruleFor(context)
    if (firewall === null) return rule === null ? noFirewall : enforceRule(context, rule, reply)
    const recognized = recognizeUser(context, firewall)
    if (rule === null) return recognized ?? anonymous
    return Promise.resolve(recognized).then(() => enforceRule(context, rule, reply))
  }
})

/** Removes the user of the request. */
export const firewallFinish = defineListener('kernel.finish_request', 'firewall', (_app, { security }) => {
  if (security === undefined) return 'not configured'
  return (request) => {
    stateOf(request).security = undefined
  }
})
