import type { FastifyInstance, FastifyRequest } from 'fastify'
import { stateOf } from '../lifecycle/request-state.js'
import { routeConfigOf } from '../lifecycle/request-state.js'
import { storeOf } from '../session/session-store.js'
import { compileRules, type AccessRule, type CompiledRule } from './access-control.js'
import { SecurityContext, userOf } from './context.js'
import { AccessDecision, type Strategy, type Voter } from './decision.js'
import { checkSessions, compileFirewall, type Firewall, type FirewallSettings } from './firewall.js'
import { argon2, type PasswordHasher } from './passwords.js'
import { routerPaths } from './paths.js'
import { describeSubject } from './record.js'
import { roleResolver, type RoleHierarchy } from './roles.js'
import { compileProviders, type UserProvider } from './user.js'

/** Who may do what, and how they are recognised. */
export interface SecuritySettings {
  /** The first whose pattern matches the path decides. */
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
  /** Firewalls, users, access rules and voters; none: no request is anybody's. */
  security?: SecuritySettings
  /** Of sessions only the name of the cookie is of interest here. */
  session?: false | { cookieName?: string }
}

/** The security of an application, as its listeners share it. */
export interface Security {
  firewalls: readonly Firewall[]
  decision: AccessDecision
  rolesOf: (roles: readonly string[]) => readonly string[]
  cookieName: string
  /** What is known about a request; made by the first listener that asks. */
  contextFor (request: FastifyRequest): SecurityContext
  ruleFor (path: string, request: FastifyRequest): CompiledRule | null
  /** Ends all sessions in which a user is logged in, at one firewall or at all. */
  endSessions (identifier: string, firewall?: string): Promise<void>
  /** Asks the voters, and records their votes. */
  isGranted (request: FastifyRequest, context: SecurityContext, attribute: string, subject: unknown, by: string): Promise<boolean>
}

const compiled = new WeakMap<object, Security>()

/** The security of an application, checked and prepared once; null where it is not configured. */
export function securityOf (app: FastifyInstance, { security: settings, session }: SecurityOptions): Security | null {
  if (settings === undefined) return null
  const known = compiled.get(app.hindsight)
  if (known !== undefined) return known
  const security = compile(app, settings, (session === false ? undefined : session?.cookieName) ?? 'sessionId')
  compiled.set(app.hindsight, security)
  return security
}

/** In debug mode the firewall of the profiler's own routes. */
const PROFILER = 'profiler'

function compile (app: FastifyInstance, settings: SecuritySettings, cookieName: string): Security {
  if (!Array.isArray(settings.firewalls)) throw new Error('security.firewalls: a list of firewalls is needed')
  const { debug } = app.hindsight
  const paths = routerPaths(app)
  const providers = compileProviders(settings.providers)
  const firewalls = [
    ...(debug ? [{ name: PROFILER, pattern: /^\/_(?:profiler|wdt)(?:\/|$)/, security: false as const }] : []),
    ...settings.firewalls
  ].map((one) => compileFirewall(one, paths, providers, settings.hasher ?? argon2, storeOf(app.hindsight)))
  firewalls.forEach((firewall, i) => {
    if (firewalls.findIndex(({ name }) => name === firewall.name) !== i) throw new Error(`security.firewalls: the name "${firewall.name}" is there twice`)
    checkSessions(app, firewall)
    for (const path of ownPaths(firewall)) checkOwner(firewalls, firewall, path)
  })
  const rules = compileRules(settings.accessControl, paths)
  const decision = new AccessDecision(settings.strategy, settings.voters)
  return {
    firewalls,
    decision,
    rolesOf: roleResolver(settings.roleHierarchy),
    cookieName,
    contextFor (request) {
      const state = stateOf(request)
      if (state.security) return state.security
      const path = paths.of(request)
      // A route of the application that takes any path is guarded there too.
      const own = routeConfigOf(request)?.debugOnly === true
      const context = new SecurityContext(firewalls.find(({ name, matches }) => matches(path) && (own || name !== PROFILER || !debug)) ?? null, path, debug)
      state.security = context
      const { record } = context
      if (record !== null) state.collect('security', () => app.hindsight.mask.value(record))
      return context
    },
    ruleFor: (path, request) => rules.find(({ holds }) => holds(path, request)) ?? null,
    async endSessions (identifier, firewall) {
      const ofOne = firewalls.filter(({ name, marks }) => marks !== null && (firewall === undefined || name === firewall))
      if (ofOne.length === 0) throw new Error(firewall === undefined ? 'app.endSessions(): no firewall has a login' : `app.endSessions(): there is no firewall "${firewall}" with a login`)
      await Promise.all(ofOne.map(({ marks }) => marks?.renew(identifier)))
    },
    async isGranted (request, context, attribute, subject, by) {
      const { roles } = context
      // What everybody may makes no response a private one.
      const user = attribute === 'PUBLIC_ACCESS' ? context.user : userOf(request)
      const { granted, votes } = await decision.decide(attribute, subject, { user, roles, request })
      context.record?.decisions.push({ by, attribute, subject: describeSubject(subject), granted, strategy: decision.strategy, votes })
      return granted
    }
  }
}

/** The paths at which a firewall answers itself. */
export function ownPaths ({ login, logout }: Firewall): string[] {
  return [...(login === null ? [] : [login.loginPath, login.checkPath]), ...(logout === null ? [] : [logout.path])]
}

function checkOwner (firewalls: readonly Firewall[], firewall: Firewall, path: string): void {
  const owner = firewalls.find(({ matches }) => matches(path))
  if (owner === firewall) return
  throw new Error(`security.firewalls.${firewall.name}: its own path "${path}" ${owner === undefined ? 'is behind no firewall' : `belongs to the firewall "${owner.name}"`}`)
}
