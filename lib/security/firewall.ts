import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addressRanges, traceOf } from 'fastify-hindsight/recorder'
import type { AccessRule, FirewallSettings, LoginSettings, LogoutSettings } from '../options.js'
import { basicAuthenticator, bearerAuthenticator } from './authenticators.js'
import { credentialsCheck } from './credentials.js'
import type { Paths } from './paths.js'
import type { CompiledProvider, PasswordHasher } from './users.js'

export type CompiledRule = ReturnType<typeof compileRule>

/** Compiles a rule; throws an error with its number. */
export function compileRule (rule: AccessRule, index: number, paths: Paths) {
  const { path: pattern, methods = [], ips = [] } = rule
  const matches = paths.matcher(pattern)
  const contains = addressRanges(ips, `security.accessControl[${index}].ips`)
  return {
    /** The rule as it was written, for the profile. */
    facts: { index, path: String(pattern ?? '/'), methods, ips, roles: [rule.roles].flat() },
    applies (path: string, request: FastifyRequest): boolean {
      const method = request.method === 'HEAD' && !methods.includes('HEAD') ? 'GET' : request.method
      return (methods.length === 0 || methods.includes(method)) && matches(path) &&
        (ips.length === 0 || contains(traceOf(request).services.originOf(request).ip))
    }
  }
}

/** A firewall as it is used. */
export type Firewall = Awaited<ReturnType<typeof compileFirewall>>

/** Compiles a firewall; rejects with an error that has its name. */
export async function compileFirewall (
  settings: FirewallSettings, app: FastifyInstance, paths: Paths, providers: ReadonlyMap<string, CompiledProvider>,
  hasher: PasswordHasher
) {
  const { name, pattern, authenticators = {}, throttling } = settings
  const where = `security.firewalls.${name}`
  const { custom = [], basic = false, bearer = false } = authenticators
  const login = loginOf(authenticators.login)
  const logout = logoutOf(settings.logout)
  if ((login ?? logout) !== null && app.service.sessionCookie === undefined) {
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
    answeredPaths: [login?.loginPath, logout?.path].filter((path) => path !== undefined),
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
export function checkFirewalls (firewalls: readonly Firewall[]): void {
  for (const firewall of firewalls) {
    const { name, answeredPaths } = firewall
    if (firewalls.findLast((one) => one.name === name) !== firewall) {
      throw new Error(`security.firewalls: the name "${name}" is used twice`)
    }
    const outside = answeredPaths.find((path) => firewalls.find(({ matches }) => matches(path)) !== firewall)
    if (outside === undefined) continue
    throw new Error(`security.firewalls.${name}: its path "${outside}" belongs to an earlier firewall, or to none`)
  }
}
