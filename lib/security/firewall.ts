import type { FastifyInstance } from 'fastify'
import type { SessionStore } from '../session/session-store.js'
import type { Authenticator } from './authenticators/authenticator.js'
import { basicAuthenticator, type BasicSettings } from './authenticators/basic.js'
import { bearerAuthenticator, type BearerSettings } from './authenticators/bearer.js'
import { Credentials } from './credentials.js'
import { LoginMarks } from './login-mark.js'
import { checkHashes, Passwords, type PasswordHasher } from './passwords.js'
import type { PathPattern, Paths } from './paths.js'
import { LoginThrottle, type ThrottlingSettings } from './throttle.js'
import type { CompiledProvider } from './user.js'

/** A login by a form, or by JSON, that is kept in the session. */
export interface LoginSettings {
  /** The page with the form, which is the application's own: browsers are sent there. Default: `/login`. */
  loginPath?: string
  /** Where the form is posted to: a route that is made for it. Default: the login path. */
  checkPath?: string
  /** Default: `_username`. */
  usernameField?: string
  /** Default: `_password`. */
  passwordField?: string
  /** Where a browser goes behind a login that it did not come to from elsewhere. Default: `/`. */
  defaultTargetPath?: string
  /** Whether the form must bring a CSRF token, in the field `_csrf_token` or the header `X-CSRF-Token`. Default: true. */
  csrf?: boolean
}

export interface LogoutSettings {
  /** Ends the session: a route for GET and POST that is made for it. Default: `/logout`. */
  path?: string
  /** Where the browser goes then. Default: `/`. */
  target?: string
  /** Whether the request must bring a CSRF token, which `request.logoutPath()` has in it. Default: true. */
  csrf?: boolean
  /** Whether it ends all sessions of the user rather than this one. Default: false. */
  everywhere?: boolean
}

/** The authenticators of a firewall; they are tried in this order, the application's own first; false: as if it were not there. */
export interface AuthenticatorSettings {
  custom?: Authenticator[]
  basic?: boolean | BasicSettings
  bearer?: false | BearerSettings
  login?: boolean | LoginSettings
}

/** A part of the application's URL space and how users are recognised in it. */
export interface FirewallSettings {
  name: string
  /** The paths that it is for; none: all. */
  pattern?: PathPattern
  /** False: nobody is recognised, and nothing is checked. */
  security?: false
  /** The provider of its users, by name; none: the only one. */
  provider?: string
  authenticators?: AuthenticatorSettings
  logout?: boolean | LogoutSettings
  /** How many logins may fail; false: any number. */
  throttling?: false | ThrottlingSettings
  /** True: the session is never looked at. */
  stateless?: boolean
}

/** A firewall as it is used. */
export interface Firewall {
  name: string
  pattern: string
  security: boolean
  stateless: boolean
  matches: (path: string) => boolean
  authenticators: readonly Authenticator[]
  provider: CompiledProvider | null
  credentials: Credentials | null
  login: Required<LoginSettings> | null
  logout: Required<LogoutSettings> | null
  /** Null where nobody logs in. */
  marks: LoginMarks | null
}

/** Checks one firewall of the configuration and prepares it; throws with its name. */
export function compileFirewall (settings: FirewallSettings, paths: Paths, providers: Map<string, CompiledProvider>, hasher: PasswordHasher, store?: SessionStore): Firewall {
  const { name, pattern, stateless = false, authenticators = {}, throttling } = settings
  if (typeof name !== 'string' || !/^[\w.-]+$/.test(name)) throw new Error('security.firewalls: every firewall needs a name of letters, digits, ".", "_" or "-"')
  const where = `security.firewalls.${name}`
  if (typeof pattern === 'string' && !pattern.startsWith('/')) throw new Error(`${where}.pattern: a path starts with "/"`)
  const { custom = [], basic = false, bearer = false } = authenticators
  const login = loginSettings(authenticators.login, `${where}.authenticators.login`)
  const logout = logoutSettings(settings.logout, `${where}.logout`)
  checkBasic(basic, `${where}.authenticators.basic`)
  checkBearer(bearer, `${where}.authenticators.bearer`)
  const byPassword = basic !== false || login !== null
  if (login !== null && stateless) throw new Error(`${where}: a login needs the session, which a stateless firewall does not look at`)
  const provider = providerOf(settings, where, providers, byPassword)
  let credentials: Credentials | null = null
  if (provider !== null && byPassword) {
    checkHashes(hasher, `security.providers.${provider.name}`, provider.hashes)
    credentials = new Credentials(provider, new Passwords(hasher, provider.hashes), throttling === false ? null : new LoginThrottle(name, throttling))
  }
  return {
    name,
    pattern: String(pattern ?? '/'),
    security: settings.security !== false,
    stateless,
    matches: paths.matcher(pattern),
    provider,
    credentials,
    login,
    logout,
    marks: login === null || store === undefined ? null : new LoginMarks(store, name),
    authenticators: [
      ...custom.map((authenticator, i) => checkCustom(authenticator, `${where}.authenticators.custom[${i}]`)),
      ...(basic === false ? [] : [basicAuthenticator(basic, credentials as Credentials)]),
      ...(bearer === false ? [] : [bearerAuthenticator(bearer, `${where}.authenticators`)])
    ]
  }
}

/** Throws when a login or logout cannot work in this application. */
export function checkSessions (app: FastifyInstance, { name, login, logout }: Firewall): void {
  const wanted = login !== null ? 'login' : logout !== null ? 'logout' : null
  if (wanted !== null && !app.hasRequestDecorator('session')) throw new Error(`security.firewalls.${name}: the ${wanted} needs sessions, and the option session is false`)
}

function loginSettings (given: boolean | LoginSettings = false, where: string): Required<LoginSettings> | null {
  if (given === false) return null
  // What is undefined was not given: `csrf: undefined` must not be an off.
  const {
    loginPath = '/login', checkPath = loginPath, usernameField = '_username', passwordField = '_password', defaultTargetPath = '/', csrf = true
  } = given === true ? {} : given
  checkLocal(where, { loginPath, checkPath, defaultTargetPath })
  return { loginPath, checkPath, usernameField, passwordField, defaultTargetPath, csrf }
}

function logoutSettings (given: boolean | LogoutSettings = false, where: string): Required<LogoutSettings> | null {
  if (given === false) return null
  const { path = '/logout', target = '/', csrf = true, everywhere = false } = given === true ? {} : given
  checkLocal(where, { path, target })
  return { path, target, csrf, everywhere }
}

function checkBasic (settings: boolean | BasicSettings, where: string): void {
  if (typeof settings === 'boolean') return
  checkRealm(settings.realm, where)
  if (settings.charset !== undefined && settings.charset !== 'UTF-8') throw new Error(`${where}.charset: only "UTF-8" can be asked for`)
}

function checkBearer (settings: false | BearerSettings, where: string): void {
  if (settings === false) return
  const { realm, tokens = [] } = settings
  checkRealm(realm, where)
  tokens.forEach(({ user }, i) => {
    if (typeof user !== 'string' || user === '') throw new Error(`${where}.tokens[${i}].user: say whose the token is`)
  })
}

// It goes into a header.
function checkRealm (realm: string | undefined, where: string): void {
  if (realm !== undefined && /\p{Cc}/u.test(realm)) throw new Error(`${where}.realm: there are control characters in it`)
}

/** Throws at a path that a browser could take for the URL of another origin. */
function checkLocal (where: string, paths: Record<string, string>): void {
  for (const [name, path] of Object.entries(paths)) {
    if (!path.startsWith('/') || path.includes('//') || /[\\\p{Cc}]/u.test(path)) {
      throw new Error(`${where}.${name}: a path of this application starts with one "/", and has no "//", backslash or control character`)
    }
  }
}

function providerOf ({ provider }: FirewallSettings, where: string, providers: Map<string, CompiledProvider>, needed: boolean): CompiledProvider | null {
  const list = [...providers.keys()].join(', ')
  if (provider !== undefined) {
    const found = providers.get(provider)
    if (found === undefined) throw new Error(`${where}.provider: there is no provider "${provider}"${list === '' ? '' : `; there are ${list}`}`)
    return found
  }
  if (providers.size > 1 && needed) throw new Error(`${where}.provider: say which one of ${list}`)
  if (providers.size === 0 && needed) throw new Error(`${where}: security.providers has nobody who could log in`)
  return providers.size === 1 ? [...providers.values()][0] as CompiledProvider : null
}

function checkCustom (authenticator: Authenticator, where: string): Authenticator {
  if (typeof authenticator?.name !== 'string' || typeof authenticator.supports !== 'function' || typeof authenticator.authenticate !== 'function') {
    throw new Error(`${where}: an authenticator has a name and the functions supports and authenticate`)
  }
  return authenticator
}
