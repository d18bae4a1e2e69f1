import type { FastifyInstance, FastifyRequest } from 'fastify'
import { routeConfigOf, stateOf } from '../lifecycle/request-state.js'
import type { FirewallSettings, LoginSettings, LogoutSettings, SecuritySettings } from '../options.js'
import { compileRule, decide, type CompiledRule, type VoteContext } from './access-control.js'
import { basicAuthenticator, bearerAuthenticator } from './authenticators.js'
import { SecurityContext } from './context.js'
import { credentialsCheck } from './credentials.js'
import { routerPaths, type Paths } from './paths.js'
import {
  argon2, checkHashes, compileProvider, roleResolver, type CompiledProvider, type PasswordHasher
} from './users.js'

/** In debug mode the profiler's own routes are behind a firewall without security. */
const PROFILER: FirewallSettings = { name: 'profiler', pattern: /^\/_(?:profiler|wdt)(?:\/|$)/, security: false }
const LOGIN = {
  loginPath: '/login',
  usernameField: '_username',
  passwordField: '_password',
  defaultTargetPath: '/',
  csrf: true
}
const LOGOUT: Required<LogoutSettings> = { path: '/logout', target: '/', csrf: true }

/** The settings that decide about the rights of a user. */
export type Policy = ReturnType<typeof compilePolicy>

function compilePolicy ({ voters = [], roleHierarchy }: SecuritySettings) {
  return {
    /** A user's roles with the inherited ones. */
    rolesOf: roleResolver(roleHierarchy),
    decide: (attribute: string, subject: unknown, context: VoteContext) =>
      decide(voters, attribute, subject, context)
  }
}

/** Compiles the option `security`, whose types were checked before; rejects with an error that names the setting. */
export async function compileSecurity (app: FastifyInstance, settings: SecuritySettings, cookieName: string) {
  const { debug, mask } = app.hindsight
  const { accessControl = [], hasher = argon2 } = settings
  const paths = routerPaths(app)
  const providers = new Map(Object.entries(settings.providers ?? {})
    .map(([name, provider]) => [name, compileProvider(name, provider)]))
  const firewalls: Firewall[] = []
  for (const one of debug ? [PROFILER, ...settings.firewalls] : settings.firewalls) {
    const firewall = await compileFirewall(one, { app, paths, providers, hasher, cookieName })
    if (firewalls.some(({ name }) => name === firewall.name)) {
      throw new Error(`security.firewalls: the name "${firewall.name}" is used twice`)
    }
    firewalls.push(firewall)
  }
  checkOwnPaths(firewalls)
  const rules = accessControl.map((rule, i) => compileRule(rule, i, paths))
  const policy = compilePolicy(settings)
  return {
    firewalls,
    cookieName,
    /** The context of a request; made by the first listener that needs it. */
    contextFor (request: FastifyRequest): SecurityContext {
      const state = stateOf(request)
      if (state.security !== undefined) return state.security
      const path = paths.of(request)
      // A route of the application with the path of a debug page has the application's firewall.
      const isOwn = !debug || routeConfigOf(request)?.debugOnly === true
      const firewall = firewalls.find(({ name, matches }) => matches(path) && (isOwn || name !== PROFILER.name))
      const context = state.security = new SecurityContext(policy, request, firewall ?? null, path)
      if (debug) state.collect('security', () => mask.value(context.record))
      return context
    },
    /** The access rule that applies to a request. */
    ruleFor ({ path, request }: SecurityContext): CompiledRule | null {
      return rules.find((rule) => rule.applies(path, request)) ?? null
    }
  }
}

/** What all firewalls of an application use. */
interface Shared {
  app: FastifyInstance
  paths: Paths
  providers: ReadonlyMap<string, CompiledProvider>
  hasher: PasswordHasher
  cookieName: string
}

/** A firewall as it is used. */
export type Firewall = Awaited<ReturnType<typeof compileFirewall>>

/** Compiles a firewall; rejects with an error that has its name. */
async function compileFirewall (settings: FirewallSettings, { app, paths, providers, hasher, cookieName }: Shared) {
  const { name, pattern, stateless = false, authenticators = {}, throttling } = settings
  const where = `security.firewalls.${name}`
  const { custom = [], basic = false, bearer = false } = authenticators
  const given = withDefaults<LoginSettings & typeof LOGIN>(authenticators.login, LOGIN)
  const login = given && { ...given, checkPath: given.checkPath ?? given.loginPath }
  const logout = withDefaults(settings.logout, LOGOUT)
  if (login !== null && stateless) {
    throw new Error(`${where}: a login needs the session, which a stateless firewall does not read`)
  }
  if ((login ?? logout) !== null && !app.hasRequestDecorator('session')) {
    const feature = login === null ? 'logout' : 'login'
    throw new Error(`${where}: the ${feature} needs sessions, and the option session is false`)
  }
  const byPassword = basic !== false || login !== null
  const provider = providerOf(settings.provider, where, providers, byPassword)
  const verify = provider !== null && byPassword ? credentialsCheck(name, provider, hasher, throttling) : null
  if (verify !== null && provider !== null) await checkHashes(hasher, provider)
  return {
    name,
    /** The settings that the profile shows. */
    facts: { name, pattern: String(pattern ?? '/'), security: settings.security !== false, stateless },
    matches: paths.matcher(pattern),
    cookieName,
    provider,
    verify,
    login,
    logout,
    /** The paths that it answers itself. */
    ownPaths: [login?.loginPath, login?.checkPath, logout?.path].filter((path) => path !== undefined),
    authenticators: [
      ...custom,
      ...(basic === false || verify === null ? [] : [basicAuthenticator(basic, verify)]),
      ...(bearer === false ? [] : [bearerAuthenticator(bearer, `${where}.authenticators.bearer`)])
    ]
  }
}

function withDefaults<T extends object> (given: boolean | Partial<T> | undefined, defaults: T): T | null {
  if (given === undefined || given === false) return null
  // A setting that is undefined was not given: `csrf: undefined` does not disable the check.
  const set = Object.entries(given === true ? {} : given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(set) }
}

function providerOf (
  name: string | undefined, where: string, providers: ReadonlyMap<string, CompiledProvider>, needed: boolean
): CompiledProvider | null {
  const list = [...providers.keys()].join(', ')
  if (name !== undefined) {
    const found = providers.get(name)
    if (found !== undefined) return found
    throw new Error(`${where}.provider: there is no provider "${name}"${list === '' ? '' : `; there are ${list}`}`)
  }
  if (providers.size > 1 && needed) throw new Error(`${where}.provider: one of these is required: ${list}`)
  if (providers.size === 0 && needed) throw new Error(`${where}: security.providers has no provider of users`)
  return providers.size === 1 ? [...providers.values()][0] ?? null : null
}

/** Throws if the login or logout of a firewall is a path of another one, or of none. */
function checkOwnPaths (firewalls: readonly Firewall[]): void {
  for (const firewall of firewalls) {
    for (const path of firewall.ownPaths) {
      const owner = firewalls.find(({ matches }) => matches(path))
      if (owner === firewall) continue
      const actual = owner === undefined ? 'is not protected by a firewall' : `belongs to the firewall "${owner.name}"`
      throw new Error(`security.firewalls.${firewall.name}: its own path "${path}" ${actual}`)
    }
  }
}
