import type { FastifyInstance, FastifyRequest } from 'fastify'
import { listener, Skip, type Answer } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import type { CompiledRule } from '../lib/security/access-control.js'
import { contextOf, userOf } from '../lib/security/context.js'
import type { Firewall } from '../lib/security/firewall.js'
import type { LoginForm } from '../lib/security/login.js'
import { openSecurity, type Security, type SecurityOptions } from '../lib/security/security.js'
import type { User } from '../lib/security/users.js'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Ends all sessions in which a user is logged in, at the firewall of that name or at all; the user has to log in
     * again.
     */
    endSessions (identifier: string, firewall?: string): Promise<void>
  }
  interface FastifyRequest {
    /**
     * The user who sent the request; null: no user is logged in. Reading a user of the session makes the response
     * private.
     */
    readonly user: User | null
    /** Whether the user has a role, or may do something with a subject, as the voters see it. */
    isGranted (attribute: string, subject?: unknown): Promise<boolean>
    /** What a login page shows; the message of a failed login is given once. */
    loginForm (): LoginForm
  }
}

const noFirewall = new Skip('no firewall for this path')
const unguarded = new Skip('the firewall is without security')
const nobody = new Skip('the request brings no credentials, and needs none')

/** Finds out who sent a request and whether they may come to its path. */
export const firewall = listener('kernel.request', 'firewall', async (app, options: SecurityOptions) => {
  const security = await openSecurity(app, options)
  if (security === null) return 'not configured'
  const { enforce, recognize } = await import('../lib/security/guard.js')
  const { loginForm, loginRoutes } = await import('../lib/security/login.js')
  decorate(app, security, loginForm)
  app.decorate('endSessions', (identifier: string, firewall?: string) => security.endSessions(identifier, firewall))
  await loginRoutes(app, security)
  return (request, reply) => {
    const context = security.contextFor(request)
    const { firewall, path } = context
    if (firewall?.security === false) return unguarded
    const rule = firewall !== null && answersItself(firewall, path) ? null : security.ruleFor(context)
    if (firewall === null) return rule === null ? noFirewall : enforce(context, rule, reply)
    const anonymous = firewall.authenticators.every((authenticator) => !authenticator.supports(request)) &&
      (firewall.login === null || app.hindsight.cookiesOf(request)[security.cookieName] === undefined)
    if (anonymous && rule === null && !app.hindsight.debug) return nobody
    return guard(firewall, rule)

    async function guard (firewall: Firewall, rule: CompiledRule | null): Promise<Answer | Skip | undefined> {
      await recognize(context, firewall)
      if (rule !== null) return enforce(context, rule, reply)
      return anonymous ? nobody : undefined
    }
  }
})

/** Drops what was known about who sent the request. */
export const firewallFinish = listener('kernel.finish_request', 'firewall', (_app, { security }: SecurityOptions) => {
  if (security === undefined) return 'not configured'
  return (request) => {
    stateOf(request).security = undefined
  }
})

// Rules that closed the way to the login would send browsers round in circles.
function answersItself ({ login, logout }: Firewall, path: string): boolean {
  return path === login?.loginPath || path === login?.checkPath || path === logout?.path
}

function decorate (
  app: FastifyInstance, security: Security, loginForm: (request: FastifyRequest) => LoginForm
): void {
  for (const name of ['user', 'isGranted', 'loginForm']) {
    if (app.hasRequestDecorator(name)) {
      const hint = 'give it another name there (@fastify/jwt has decoratorName for that)'
      throw new Error(`security: another plugin has decorated request.${name} already; ${hint}`)
    }
  }
  app.decorateRequest('user', { getter (this: FastifyRequest) { return userOf(this) } } as never)
  app.decorateRequest('isGranted', function isGranted (this: FastifyRequest, attribute: string, subject?: unknown) {
    const context = contextOf(this)
    return context === null
      ? Promise.resolve(false)
      : security.isGranted(context, attribute, subject, 'request.isGranted')
  })
  app.decorateRequest('loginForm', function (this: FastifyRequest) { return loginForm(this) })
}
