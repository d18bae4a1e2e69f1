import type { FastifyInstance, FastifyRequest } from 'fastify'
import { stateOf } from '../lifecycle/request-state.js'
import { routeConfigOf } from '../lifecycle/request-state.js'
import { storeOf } from '../session/session-store.js'
import { checkVoters, compileRule, decide, type CompiledRule } from './access-control.js'
import { SecurityContext, userOf } from './context.js'
import { compileFirewall, ownPaths, type Firewall, type FirewallSettings } from './firewall.js'
import { argon2 } from './passwords.js'
import { routerPaths } from './paths.js'
import type { SecuritySettings } from './security.js'
import { compileProvider, roleResolver } from './users.js'

/** In debug mode the profiler's own routes are behind a firewall without security. */
const PROFILER: FirewallSettings = { name: 'profiler', pattern: /^\/_(?:profiler|wdt)(?:\/|$)/, security: false }

/** Compiles the option `security`; rejects with an error that has the name of the setting. */
export async function compileSecurity (app: FastifyInstance, settings: SecuritySettings, cookieName: string) {
  const { accessControl = [], strategy = 'affirmative', voters = [], hasher = argon2 } = settings
  if (!Array.isArray(settings.firewalls)) throw new Error('security.firewalls: a list of firewalls is needed')
  const { debug, mask } = app.hindsight
  const paths = routerPaths(app)
  const providers = new Map(Object.entries(settings.providers ?? {})
    .map(([name, provider]) => [name, compileProvider(name, provider)]))
  const shared = { app, paths, providers, hasher, cookieName, store: storeOf(app.hindsight) }
  const firewalls: Firewall[] = []
  for (const one of debug ? [PROFILER, ...settings.firewalls] : settings.firewalls) {
    const firewall = await compileFirewall(one, shared)
    if (firewalls.some(({ name }) => name === firewall.name)) {
      throw new Error(`security.firewalls: the name "${firewall.name}" is there twice`)
    }
    firewalls.push(firewall)
  }
  checkOwnPaths(firewalls)
  const rules = accessControl.map((rule, i) => compileRule(rule, i, paths))
  checkVoters(strategy, voters)
  return {
    firewalls,
    cookieName,
    /** A user's roles with the inherited ones. */
    rolesOf: roleResolver(settings.roleHierarchy),
    /** The context of a request; made by the first listener that needs it. */
    contextFor (request: FastifyRequest): SecurityContext {
      const state = stateOf(request)
      if (state.security !== undefined) return state.security
      const path = paths.of(request)
      // A route of the application with the path of a debug page has the application's firewall.
      const isOwn = !debug || routeConfigOf(request)?.debugOnly === true
      const firewall = firewalls.find(({ name, matches }) => matches(path) && (isOwn || name !== PROFILER.name))
      const context = state.security = new SecurityContext(this, request, firewall ?? null, path)
      if (debug) state.collect('security', () => mask.value(context.record))
      return context
    },
    /** The access rule that applies to a request. */
    ruleFor ({ path, request }: SecurityContext): CompiledRule | null {
      return rules.find((rule) => rule.applies(path, request)) ?? null
    },
    /** Ends all sessions in which a user is logged in, at one firewall or at all. */
    async endSessions (identifier: string, firewall?: string): Promise<void> {
      const marks = firewalls.filter(({ name }) => firewall === undefined || name === firewall)
        .flatMap(({ marks }) => marks ?? [])
      if (marks.length === 0) {
        throw new Error(firewall === undefined
          ? 'app.endSessions(): no firewall has a login'
          : `app.endSessions(): there is no firewall "${firewall}" with a login`)
      }
      await Promise.all(marks.map((one) => one.renew(identifier)))
    },
    /** Lets the voters decide, and records their votes. */
    async isGranted (context: SecurityContext, attribute: string, subject: unknown, by: string): Promise<boolean> {
      const { request, roles, record } = context
      // A right that all have does not make the response private.
      const user = attribute === 'PUBLIC_ACCESS' ? context.user : userOf(request)
      const { granted, votes } = await decide(strategy, voters, attribute, subject, { user, roles, request })
      record.decisions.push({ by, attribute, subject: describeSubject(subject), granted, strategy, votes })
      return granted
    }
  }
}

/** Throws if the login or logout of a firewall is a path of another one, or of none. */
function checkOwnPaths (firewalls: readonly Firewall[]): void {
  for (const firewall of firewalls) {
    for (const path of ownPaths(firewall)) {
      const owner = firewalls.find(({ matches }) => matches(path))
      if (owner === firewall) continue
      const actual = owner === undefined ? 'is behind no firewall' : `belongs to the firewall "${owner.name}"`
      throw new Error(`security.firewalls.${firewall.name}: its own path "${path}" ${actual}`)
    }
  }
}

/** A short description of a subject, without its content. */
function describeSubject (subject: unknown): string | null {
  if (subject === undefined) return null
  if (typeof subject === 'string') return subject.length <= 100 ? subject : `${subject.slice(0, 100)}…`
  if (subject === null || typeof subject === 'number' || typeof subject === 'boolean') return String(subject)
  if (typeof subject !== 'object') return typeof subject
  const { constructor: maker, id } = subject as { constructor?: { name?: unknown }, id?: unknown }
  const name = typeof maker?.name === 'string' ? maker.name : 'Object'
  return typeof id === 'string' || typeof id === 'number' ? `${name} ${id}` : name
}
