import type { FastifyInstance } from 'fastify'
import type { AccessRule, Strategy, Voter } from './access-control.js'
import type { compileSecurity } from './compile.js'
import type { FirewallSettings } from './firewall.js'
import type { PasswordHasher } from './passwords.js'
import type { RoleHierarchy, UserProvider } from './users.js'

/** Authentication and authorization. */
export interface SecuritySettings {
  /** The first whose pattern matches the path applies. */
  firewalls: FirewallSettings[]
  providers?: Record<string, UserProvider>
  accessControl?: AccessRule[]
  roleHierarchy?: RoleHierarchy
  /** How the votes are counted. Default: `affirmative`. */
  strategy?: Strategy
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
export async function openSecurity (app: FastifyInstance, options: SecurityOptions): Promise<Security | null> {
  const { security: settings, session } = options
  if (settings === undefined) return null
  const cookieName = (session === false ? undefined : session?.cookieName) ?? 'sessionId'
  const security = opened.get(app.hindsight) ??
    import('./compile.js').then(({ compileSecurity }) => compileSecurity(app, settings, cookieName))
  opened.set(app.hindsight, security)
  return await security
}
