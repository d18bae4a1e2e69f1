import type { FastifyInstance } from 'fastify'
import type { SessionStore } from '../session/session-store.js'
import {
  basicAuthenticator, bearerAuthenticator, type Authenticator, type BasicSettings, type BearerSettings
} from './authenticators.js'
import { credentialsCheck, type ThrottlingSettings } from './credentials.js'
import { LoginMarks } from './login-session.js'
import { checkHashes, type PasswordHasher } from './passwords.js'
import type { PathPattern, Paths } from './paths.js'
import type { CompiledProvider } from './users.js'

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
  /** Whether it ends all sessions of the user instead of one. Default: false. */
  everywhere?: boolean
}

/** The authenticators of a firewall, in the order in which they are tried; false: without it. */
export interface AuthenticatorSettings {
  custom?: Authenticator[]
  basic?: boolean | BasicSettings
  bearer?: false | BearerSettings
  login?: boolean | LoginSettings
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
  authenticators?: AuthenticatorSettings
  logout?: boolean | LogoutSettings
  /** How many logins may fail; false: any number. */
  throttling?: false | ThrottlingSettings
  /** True: the session is never read. */
  stateless?: boolean
}

/** What all firewalls of an application use. */
interface Shared {
  app: FastifyInstance
  paths: Paths
  providers: ReadonlyMap<string, CompiledProvider>
  hasher: PasswordHasher
  cookieName: string
  store: SessionStore | undefined
}

const LOGIN = {
  loginPath: '/login',
  usernameField: '_username',
  passwordField: '_password',
  defaultTargetPath: '/',
  csrf: true
}
const LOGOUT: Required<LogoutSettings> = { path: '/logout', target: '/', csrf: true, everywhere: false }

/** A firewall as it is used. */
export type Firewall = Awaited<ReturnType<typeof compileFirewall>>

/** Compiles a firewall; rejects with an error that has its name. */
export async function compileFirewall (settings: FirewallSettings, shared: Shared) {
  const { app, paths, hasher, cookieName, store } = shared
  const { name, pattern, stateless = false, authenticators = {}, throttling } = settings
  if (typeof name !== 'string' || !/^[\w.-]+$/.test(name)) {
    throw new Error('security.firewalls: every firewall needs a name of letters, digits, ".", "_" or "-"')
  }
  const where = `security.firewalls.${name}`
  if (typeof pattern === 'string' && !pattern.startsWith('/')) {
    throw new Error(`${where}.pattern: a path starts with "/"`)
  }
  const at = `${where}.authenticators`
  const { custom = [], basic = false, bearer = false } = authenticators
  const given = withDefaults<LoginSettings & typeof LOGIN>(authenticators.login, LOGIN)
  const login = given === null ? null : { ...given, checkPath: given.checkPath ?? given.loginPath }
  const logout = withDefaults(settings.logout, LOGOUT)
  checkLocal(`${at}.login`, login, ['loginPath', 'checkPath', 'defaultTargetPath'])
  checkLocal(`${where}.logout`, logout, ['path', 'target'])
  if (login !== null && stateless) {
    throw new Error(`${where}: a login needs the session, which a stateless firewall does not look at`)
  }
  if ((login ?? logout) !== null && !app.hasRequestDecorator('session')) {
    const feature = login === null ? 'logout' : 'login'
    throw new Error(`${where}: the ${feature} needs sessions, and the option session is false`)
  }
  const byPassword = basic !== false || login !== null
  const provider = providerOf(settings, where, shared.providers, byPassword)
  const verify = provider !== null && byPassword ? credentialsCheck(name, provider, hasher, throttling) : null
  if (verify !== null && provider !== null) await checkHashes(hasher, provider.name, provider.hashes)
  for (const [i, one] of custom.entries()) {
    const { name, supports, authenticate } = one ?? {}
    if (typeof name === 'string' && typeof supports === 'function' && typeof authenticate === 'function') continue
    throw new Error(`${at}.custom[${i}]: an authenticator has a name and the functions supports and authenticate`)
  }
  return {
    name,
    pattern: String(pattern ?? '/'),
    security: settings.security !== false,
    stateless,
    matches: paths.matcher(pattern),
    cookieName,
    provider,
    verify,
    login,
    logout,
    marks: login === null || store === undefined ? null : new LoginMarks(store, name),
    authenticators: [
      ...custom,
      ...(basic === false || verify === null ? [] : [basicAuthenticator(basic, `${at}.basic`, verify)]),
      ...(bearer === false ? [] : [bearerAuthenticator(bearer, `${at}.bearer`)])
    ]
  }
}

/** The paths that a firewall answers itself. */
export function ownPaths ({ login, logout }: Firewall): string[] {
  return [login?.loginPath, login?.checkPath, logout?.path].filter((path) => path !== undefined)
}

function withDefaults<T extends object> (given: boolean | Partial<T> | undefined, defaults: T): T | null {
  if (given === undefined || given === false) return null
  // A setting that is undefined was not given: `csrf: undefined` does not disable the check.
  const set = Object.entries(given === true ? {} : given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(set) }
}

/** Throws for a path that a browser could read as the URL of another origin. */
function checkLocal<T extends object> (where: string, settings: T | null, names: Array<keyof T & string>): void {
  for (const name of settings === null ? [] : names) {
    const path = String(settings?.[name])
    if (path.startsWith('/') && !path.includes('//') && !/[\\\p{Cc}]/u.test(path)) continue
    throw new Error(`${where}.${name}: a path of this application starts with one "/", and has no "//", backslash ` +
      'or control character')
  }
}

function providerOf (
  { provider }: FirewallSettings, where: string, providers: ReadonlyMap<string, CompiledProvider>, needed: boolean
): CompiledProvider | null {
  const list = [...providers.keys()].join(', ')
  if (provider !== undefined) {
    const found = providers.get(provider)
    if (found !== undefined) return found
    throw new Error(`${where}.provider: there is no provider "${provider}"${list === '' ? '' : `; there are ${list}`}`)
  }
  if (providers.size > 1 && needed) throw new Error(`${where}.provider: say which one of ${list}`)
  if (providers.size === 0 && needed) throw new Error(`${where}: security.providers has no provider of users`)
  return providers.size === 1 ? [...providers.values()][0] ?? null : null
}
