import type { FastifyInstance, FastifyRequest } from 'fastify'
import { stateOf } from '../../lifecycle/request-state.js'
import type { FirewallSettings, LoginSettings, LogoutSettings, SecuritySettings } from '../../options.js'
import { compileRule, type CompiledRule } from './access-control.js'
import { basicAuthenticator, bearerAuthenticator } from './authenticators.js'
import { SecurityContext, type SecurityRecord } from './context.js'
import { credentialsCheck } from './credentials.js'
import { routerPaths, type Paths } from './paths.js'
import { argon2, compileProvider, roleResolver, type CompiledProvider, type PasswordHasher } from './users.js'

/** Compiles the option `security`, whose types were checked before; rejects with an error that names the setting. */
export async function compileSecurity (app: FastifyInstance, settings: SecuritySettings) {
  const { debug, mask } = app.hindsight
  const { accessControl = [], hasher = argon2, voters = [], roleHierarchy } = settings
  const paths = routerPaths(app)
  const providers = new Map(Object.entries(settings.providers ?? {})
    .map(([name, provider]) => [name, compileProvider(name, provider)]))
  const firewalls: Firewall[] = []
  for (const one of settings.firewalls) firewalls.push(await compileFirewall(one, app, paths, providers, hasher))
  checkFirewalls(firewalls)
  const rules = accessControl.map((rule, i) => compileRule(rule, i, paths))
  const policy = { voters, rolesOf: roleResolver(roleHierarchy) }
  return {
    firewalls,
    /** The context of a request; made by the first listener that needs it. */
    contextFor (request: FastifyRequest): SecurityContext {
      const state = stateOf(request)
      if (state.security !== undefined) return state.security
      const path = paths.of(request)
      const firewall = firewalls.find(({ matches }) => matches(path)) ?? null
      const context = state.security = new SecurityContext(policy, request, firewall, path)
      if (debug) {
        state.accessRecord = () => mask.value(context.record) as SecurityRecord
        state.collect('security', state.accessRecord)
      }
      return context
    },
    /** The access rule that applies to a request. */
    ruleFor ({ path, request }: SecurityContext): CompiledRule | null {
      return rules.find((rule) => rule.applies(path, request)) ?? null
    }
  }
}

/** A firewall as it is used. */
export type Firewall = Awaited<ReturnType<typeof compileFirewall>>

/** Compiles a firewall; rejects with an error that has its name. */
async function compileFirewall (
  settings: FirewallSettings, app: FastifyInstance, paths: Paths, providers: ReadonlyMap<string, CompiledProvider>,
  hasher: PasswordHasher
) {
  const { name, pattern, authenticators = {}, throttling } = settings
  const where = `security.firewalls.${name}`
  const { custom = [], basic = false, bearer = false } = authenticators
  const login = loginOf(authenticators.login)
  const logout = logoutOf(settings.logout)
  if ((login ?? logout) !== null && app.hindsight.sessions === undefined) {
    throw new Error(`${where}: its ${login === null ? 'logout' : 'login'} needs the option session, which is not set`)
  }
  const byPassword = basic !== false || login !== null
  const provider = providerOf(settings.provider, where, providers, byPassword)
  const verify = provider !== null && byPassword ? await credentialsCheck(name, provider, hasher, throttling) : null
  return {
    name,
    /** The settings that the profile shows. */
    facts: { name, pattern: String(pattern ?? '/'), security: settings.security !== false },
    matches: paths.matcher(pattern),
    provider,
    verify,
    login,
    logout,
    /** The paths that it answers itself. */
    ownPaths: [login?.loginPath, logout?.path].filter((path) => path !== undefined),
    authenticators: [
      ...custom,
      ...(basic === false || verify === null ? [] : [basicAuthenticator(basic, verify)]),
      ...(bearer === false ? [] : [bearerAuthenticator(bearer)])
    ]
  }
}

function loginOf (given: boolean | LoginSettings = false) {
  if (given === false) return null
  const { loginPath = '/login', defaultTargetPath = '/', csrf = true } = given === true ? {} : given
  return { loginPath, defaultTargetPath, csrf }
}

function logoutOf (given: boolean | LogoutSettings = false) {
  if (given === false) return null
  const { path = '/logout', target = '/', csrf = true } = given === true ? {} : given
  return { path, target, csrf }
}

/** The provider of a firewall: the named one, or else the only one. Throws if a needed one is missing. */
function providerOf (
  name: string | undefined, where: string, providers: ReadonlyMap<string, CompiledProvider>, isNeeded: boolean
): CompiledProvider | null {
  const names = [...providers.keys()]
  const provider = providers.get(name ?? (names.length === 1 ? names[0] ?? '' : ''))
  if (provider === undefined && (isNeeded || name !== undefined)) {
    throw new Error(`${where}.provider: one of security.providers is required: ${names.join(', ') || 'there are none'}`)
  }
  return provider ?? null
}

/** Throws if a name is used twice, or if another firewall, or none, protects the login or logout of a firewall. */
function checkFirewalls (firewalls: readonly Firewall[]): void {
  for (const firewall of firewalls) {
    const { name, ownPaths } = firewall
    if (firewalls.findLast((one) => one.name === name) !== firewall) {
      throw new Error(`security.firewalls: the name "${name}" is used twice`)
    }
    const outside = ownPaths.find((path) => firewalls.find(({ matches }) => matches(path)) !== firewall)
    if (outside === undefined) continue
    throw new Error(`security.firewalls.${name}: its path "${outside}" belongs to an earlier firewall, or to none`)
  }
}
