import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SecuritySettings } from '../options.js'
import { security } from '../parts/security.js'
import { stateOf } from '../state.js'
import { SecurityContext } from './context.js'
import { checkFirewalls, compileFirewall, compileRule, type CompiledRule, type Firewall } from './firewall.js'
import { routerPaths } from './paths.js'
import { argon2, compileProvider, roleResolver } from './users.js'

/** The security of an application, which its listeners share. */
export type Security = Awaited<ReturnType<typeof compileSecurity>>

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
      if (debug) state.trace.collect(security, () => mask.value(context.record))
      return context
    },
    /** The access rule that applies to a request. */
    ruleFor ({ path, request }: SecurityContext): CompiledRule | null {
      return rules.find((rule) => rule.applies(path, request)) ?? null
    }
  }
}
