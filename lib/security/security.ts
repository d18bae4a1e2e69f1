import type { FastifyInstance } from 'fastify'
import type { AccessRule, Voter } from './access-control.js'
import type { Authenticator, BasicSettings, BearerSettings } from './authenticators.js'
import type { compileSecurity } from './compile.js'
import type { ThrottlingSettings } from './credentials.js'
import type { PathPattern } from './paths.js'
import type { PasswordHasher, RoleHierarchy, UserProvider } from './users.js'

/** A login with a form, or with JSON, that is kept in the session. */
export interface LoginSettings {
  /** The application's page with the form, to which browsers are redirected. Default: `/login`. */
  loginPath?: string
  /** The action of the form, a route that is made for it. Default: the login path. */
  checkPath?: string
  /** Default: `_username`. */
  usernameField?: string
  /** Default: `_password`. */
  passwordField?: string
  /** The target after a login that no other page has caused. Default: `/`. */
  defaultTargetPath?: string
  /** Whether the form needs a CSRF token, in the field `_csrf_token` or the header `X-CSRF-Token`. Default: true. */
  csrf?: boolean
}

export interface LogoutSettings {
  /** The route for GET and POST that ends the session. Default: `/logout`. */
  path?: string
  /** The target after the logout. Default: `/`. */
  target?: string
  /** Whether the request needs a CSRF token, which `request.logoutPath()` contains. Default: true. */
  csrf?: boolean
}

/** A part of the application's URL space and how users are recognized in it. */
export interface FirewallSettings {
  name: string
  /** The paths to which it applies; none: all. */
  pattern?: PathPattern
  /** False: no user is recognized, and nothing is checked. */
  security?: false
  /** The provider of its users, by name; none: the only one. */
  provider?: string
  /** In the order in which they are tried; false: without it. */
  authenticators?: {
    custom?: Authenticator[]
    basic?: boolean | BasicSettings
    bearer?: false | BearerSettings
    login?: boolean | LoginSettings
  }
  logout?: boolean | LogoutSettings
  /** How many logins may fail; false: any number. */
  throttling?: false | ThrottlingSettings
  /** True: the session is never read. */
  stateless?: boolean
}

/** Authentication and authorization. */
export interface SecuritySettings {
  /** The first whose pattern matches the path applies. */
  firewalls: FirewallSettings[]
  providers?: Record<string, UserProvider>
  accessControl?: AccessRule[]
  roleHierarchy?: RoleHierarchy
  voters?: Voter[]
  /** Verifies password hashes; Argon2id by default. */
  hasher?: PasswordHasher
}

export interface SecurityOptions {
  /** Firewalls, users, access rules and voters; none: no user is recognized. */
  security?: SecuritySettings
  /** Of the session only the name of its cookie is used here. */
  session?: false | { cookieName?: string }
}

/** The security of an application, which its listeners share. */
export type Security = Awaited<ReturnType<typeof compileSecurity>>

const opened = new WeakMap<object, Promise<Security>>()

/** The security of an application, compiled once; null if it is not configured, and then its modules are not loaded. */
export async function openSecurity (
  app: FastifyInstance, { security: settings, session }: SecurityOptions
): Promise<Security | null> {
  if (settings === undefined) return null
  const cookieName = (session === false ? undefined : session?.cookieName) ?? 'sessionId'
  const security = opened.get(app.hindsight) ??
    import('./compile.js').then(({ compileSecurity }) => compileSecurity(app, settings, cookieName))
  opened.set(app.hindsight, security)
  return await security
}
