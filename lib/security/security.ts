import type { FastifyInstance } from 'fastify'
import type { AccessRule, Voter } from './access-control.js'
import type { Authenticator, BasicSettings, BearerSettings } from './authenticators.js'
import type { compileSecurity } from './compile.js'
import type { ThrottlingSettings } from './credentials.js'
import type { PathPattern } from './paths.js'
import type { PasswordHasher, RoleHierarchy, UserProvider } from './users.js'

/** A login with the fields `_username` and `_password` of a form, or of JSON, that is kept in the session. */
export interface LoginSettings {
  /**
   * The application's page with the form, to which browsers are redirected. A POST to it logs in, by a route that is
   * made for it. Default: `/login`.
   */
  loginPath?: string
  /** The target after a login that no other page has caused. Default: `/`. */
  defaultTargetPath?: string
  /** Whether the login needs a CSRF token, in the field `_csrf_token` or the header `X-CSRF-Token`. Default: true. */
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
}

/** The security of an application, which its listeners share. */
export type Security = Awaited<ReturnType<typeof compileSecurity>>

declare module '../lifecycle/services.js' {
  interface Services {
    security?: Promise<Security>
  }
}

/** The security of an application, compiled once; null if it is not configured, and then its modules are not loaded. */
export async function openSecurity (
  app: FastifyInstance, { security: settings }: SecurityOptions
): Promise<Security | null> {
  if (settings === undefined) return null
  const { hindsight } = app
  hindsight.security ??= import('./compile.js').then(({ compileSecurity }) => compileSecurity(app, settings))
  return await hindsight.security
}
