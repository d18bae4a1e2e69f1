import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { HindsightOptions } from 'fastify-hindsight'
import {
  checkOptions, internalHook, openRecorder, OPTIONS, profilerPages, withStackLimit, type Lifecycle
} from 'fastify-hindsight/recorder'
import { openHealth } from './health.js'
import { lifecycle } from './lifecycle.js'
import { SERVICE_OPTIONS } from '../lib/check-options.js'
import '../lib/folders.js'
import type { ServiceOptions } from '../lib/options.js'
import { serviceParts } from '../lib/parts/index.js'
import { refusalOf } from '../lib/security/refusal.js'
import { HOOK_OF_STAGE } from '../lib/stages.js'
import type { ServiceState } from '../lib/state.js'
import { errorHandler } from '../plugins/error-handler.js'
import { notFoundHandler } from '../plugins/not-found-handler.js'

/**
 * The service: the listeners in the order of `lifecycle.ts`, the handlers of errors and missing routes, and the routes
 * of the profiler. Rejects for an option that is unknown or wrong, with the option's name.
 */
export const service = fp(async function service (app: FastifyInstance, options: ServiceOptions) {
  checkOptions(options, SERVICE_OPTIONS)
  checkProfilerRole(options)
  const state = openState(app, options)
  const recorder = await openRecorder(
    app, packageOptions(options), lifecycleOf(state, options), serviceParts
  )
  checkConflicts(app, options)
  openHealth(app, options)
  await app.register(notFoundHandler)
  await app.register(errorHandler)
  if (options.security !== undefined) {
    // Without this option its modules are not loaded.
    const { compileSecurity } = await import('../lib/security/compile.js')
    state.security = await compileSecurity(app, options.security)
  }
  for (const { plugin } of Object.values(lifecycle).flat()) await app.register(plugin, options)
  recorder.addLastHooks()
  await registerPages(app, options)
}, { fastify: '5.x', name: 'hindsight-service' })

function openState (app: FastifyInstance, { leave = [], session = false }: ServiceOptions): ServiceState {
  const hasSession = session !== false && !leave.includes('session')
  const state: ServiceState = {
    slots: [],
    leave: new Set(leave),
    readinessChecks: [],
    sessionCookie: hasSession ? session.cookieName ?? 'sessionId' : undefined,
    security: undefined
  }
  app.decorate('service', state)
  return state
}

function lifecycleOf ({ slots, sessionCookie }: ServiceState, options: ServiceOptions): Lifecycle {
  return {
    stages: HOOK_OF_STAGE,
    slots,
    options,
    routesFolder: 'routes',
    trustedHosts: options.trustedHosts ?? [],
    refusalOf,
    ...sessionCookie !== undefined && { sessionCookie }
  }
}

/** The options of the package among those of the service. */
function packageOptions (options: ServiceOptions): HindsightOptions {
  const given = Object.entries(options).filter(([name]) => Object.hasOwn(OPTIONS, name))
  const { profiler, ...others } = Object.fromEntries(given) as HindsightOptions
  const isLeft = options.leave?.includes('profiler') === true
  return { ...others, ...(isLeft ? { profiler: false } : profiler !== undefined && { profiler }) }
}

/** Outside debug mode the pages of the profiler are for operators, who have a role. */
function checkProfilerRole ({ profilerRole, security, leave = [] }: ServiceOptions): void {
  if (profilerRole === undefined) return
  if (security === undefined) {
    throw new Error('profilerRole (PROFILER_ROLE) needs the option security, with a firewall for /_profiler: ' +
      'without it no user has a role')
  }
  if (leave.includes('is-granted')) {
    throw new Error('Option "leave": "is-granted" cannot be left to the application, as it keeps the pages of the ' +
      'profiler for profilerRole (PROFILER_ROLE)')
  }
}

/**
 * Registers the routes of the profiler. They are routes like any other: their refusals and failures are answered,
 * logged and stored. A success leaves no line at the level `info`, and no profile.
 */
async function registerPages (app: FastifyInstance, { profilerRole }: ServiceOptions): Promise<void> {
  const { debug } = app.hindsight
  if (!app.hindsight.hasProfiles || (!debug && profilerRole === undefined)) return
  const access = debug ? { debugOnly: true } : { isGranted: profilerRole as string }
  const config = { profile: 'failures' as const, sameOriginOnly: true, ...access }
  await app.register(async function profilerScope (scope) {
    scope.addHook('onResponse', internalHook(async function logRefusal (request, reply) {
      if (reply.statusCode < 400) return
      const context = { reqId: request.id, req: request, res: reply, responseTime: reply.elapsedTime }
      app.log.info(context, 'request completed')
    }))
    await scope.register(profilerPages, { config, onlyProfiler: !debug, logLevel: 'warn' })
  })
}

/** The listeners that set the same headers as @fastify/helmet. */
const HELMET = ['content-security-policy', 'clickjacking', 'xss-protection', 'referrer-policy', 'content-type']

/** The plugins that have the purpose of a configured listener, with that part of the service and what to change. */
function conflictsOf ({ cors = [], session = false, leave = [] }: ServiceOptions) {
  const ofSession = {
    isOn: session !== false, part: 'the option session', remedy: 'Set session: false, or remove the plugin'
  }
  const ofHeaders = `Leave them to the plugin (leave: ['${HELMET.join("', '")}']), or remove it`
  const setsHeaders = HELMET.some((listener) => !leave.includes(listener))
  return [
    { isOn: cors.length > 0, plugin: '@fastify/cors', part: 'the option cors', remedy: 'Remove one of them' },
    { ...ofSession, plugin: '@fastify/session' },
    { ...ofSession, plugin: '@fastify/secure-session' },
    { isOn: setsHeaders, plugin: '@fastify/helmet', part: 'the listeners of security headers', remedy: ofHeaders }
  ].filter(({ isOn }) => isOn)
}

/** Throws if a plugin has the purpose of a listener, whether it was registered before the service or in a child. */
function checkConflicts (app: FastifyInstance, options: ServiceOptions): void {
  const conflicts = conflictsOf(options)
  const instances = [app]
  const check = (): void => {
    const found = conflicts.find(({ plugin }) => instances.some((instance) => instance.hasPlugin(plugin)))
    if (found === undefined) return
    const { plugin, part, remedy } = found
    throw withStackLimit(0, () => new Error(`${plugin} and ${part} of the service do the same. ${remedy}.`))
  }
  check()
  app.addHook('onRegister', function rememberChild (child) { instances.push(child) })
  app.addHook('onReady', async function checkPlugins () { check() })
}

// The names that the listeners declare on requests, replies, instances and the `config` of routes.
export type {} from '@fastify/cookie'
export type {} from '@fastify/helmet'
export type {} from '@fastify/session'
