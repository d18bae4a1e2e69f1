import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { decorateRequests } from './capture.js'
import { checkOptions, listenersOf } from '../lib/check-options.js'
import { warnOnce, type Services } from '../lib/lifecycle/services.js'
import { beginObservation, type Observation } from './observe.js'
import type { HindsightOptions } from '../lib/options.js'
import { checkBudgets } from '../lib/parts/queries/budget.js'
import type { ResolvedOptions } from './prepare.js'
import { profilerSettings, recordingSetting } from '../lib/recording/collect-policy.js'
import { openRouteTable } from '../lib/routing/route-table.js'
import { checkStorageSetting } from '../lib/store/open.js'

interface Startup {
  resolved: ResolvedOptions
  /** Null in `full` mode, and where no request is recorded. */
  observation: Observation | null
}

let meta = { fastify: '5.x', name: 'fastify-hindsight' }
/** Where the plugin was registered since it was called, as stacks. */
const registrations: Error[] = []

/**
 * The plugin, in `observe` or `full` mode. Rejects for an option that is unknown or wrong, with the option's name and
 * the calls of its registration.
 */
export const hindsight = fp(async function hindsight (app: FastifyInstance, options: HindsightOptions) {
  const registered = registrations.splice(0)
  await open(app, options).catch(async (error: unknown) => {
    throw (await import('../lib/errors/failed-start.js')).withRegistration(error, registered)
  })
}, meta)
// `register` reads the name of a plugin. The plugin itself is called later, without the calls of the application.
Object.defineProperty(hindsight, Symbol.for('plugin-meta'), {
  get () {
    registrations.push(new Error())
    return meta
  },
  // An application may wrap the plugin by fastify-plugin once more.
  set (given: typeof meta) { meta = given }
})

async function open (app: FastifyInstance, options: HindsightOptions): Promise<void> {
  const { resolved, observation } = begin(app, options)
  checkStorageSetting(resolved.settings?.storage)
  const { mode, debug } = app.hindsight
  if (app.pluginName.split(' -> ')[0] !== 'fastify' && (mode === 'full' || debug)) {
    app.hindsight.warn('fastify-hindsight is registered in an encapsulated plugin: requests outside of it, and ' +
      'those without a route, have no diagnostic pages and profiles. Register it at the root; a plugin of ' +
      'fastify-cli is at the root if fastify-plugin wraps it.')
  }
  if (mode === 'full') {
    const { openFull } = await import('./full.js')
    await openFull(app, resolved)
    return
  }
  if (resolved.options.health !== undefined) (await import('./health.js')).openHealth(app, resolved.options)
  const listeners = listenersOf(resolved.options)
  if (listeners.size > 0) {
    const { registerListeners } = await import('./full.js')
    await observation?.prepared
    await registerListeners(app, resolved, listeners)
    observation?.addLastHooks()
  }
  await observation?.ready
}

// Synchronous, so that the hooks are added even if `pluginTimeout` is short.
function begin (app: FastifyInstance, given: HindsightOptions): Startup {
  if (app.hasDecorator('hindsight')) {
    throw new Error('fastify-hindsight is registered twice: by two calls of register, or by one and the preload ' +
      'fastify-hindsight/register')
  }
  checkOptions(given)
  const { lifecycle: mode = 'observe', debug = process.env.NODE_ENV !== 'production' } = given
  const options = { ...given, lifecycle: mode, debug }
  const settings = profilerSettings(options.profiler)
  if (mode === 'observe' && settings?.role !== undefined) {
    throw new Error('profiler.role (PROFILER_ROLE) needs lifecycle: \'full\', with the option security')
  }
  const recording = recordingSetting(debug, settings)
  openServices(app, options, recording)
  decorateRequests(app, recording !== 'none')
  if (debug) checkBudgets(app, options.queryBudget)
  const resolved = { options, settings }
  return { resolved, observation: mode === 'observe' && recording !== 'none' ? beginObservation(app, resolved) : null }
}

/**
 * Observes an application from its creation, before its hooks and routes: the preload, which switches no listener on.
 * It registers no plugin: `pluginName` of the application would have its name.
 */
export function preload (app: FastifyInstance, options: HindsightOptions): void {
  const { resolved, observation } = begin(app, options)
  if (observation === null) return
  app.addHook('onReady', async function hindsightReady () {
    checkStorageSetting(resolved.settings?.storage)
    await observation.ready
  })
}

/** Decorates an application with its services, to which `prepare` adds what is loaded later; ends them at its close. */
function openServices (
  app: FastifyInstance, options: HindsightOptions, recording: Services['recording']
): void {
  const { debug = false, leave = [], lifecycle: mode = 'observe' } = options
  const base = app.prefix.replace(/\/$/, '')
  const closing: Services['closing'] = []
  let isClosing = false
  const needsRoutes = mode === 'full' || recording !== 'none' || listenersOf(options).size > 0
  app.decorate('hindsight', {
    app,
    mode,
    lifecycle: { slots: [] },
    ...(needsRoutes && { routeTable: openRouteTable(app, debug) }),
    debug,
    base,
    recording,
    leave: new Set(leave),
    readinessChecks: [],
    warn: mode === 'full' ? warnInLog : warnOnce,
    closing,
    get isClosing () { return isClosing },
    beginClosing () { isClosing = true },
    get profilerUrl () {
      // A Unix socket has a path.
      if (!app.server.listening || !app.listeningOrigin.startsWith('http')) return null
      const origin = app.listeningOrigin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
      return `${origin}${base}/_profiler/`
    }
  } satisfies Partial<Services> as unknown as Services)
  app.addHook('onClose', async function closeHindsight () {
    // A function that is awaited may add more.
    while (closing.length > 0) await closing.pop()?.()
  })

  function warnInLog (message: string, error?: unknown): void {
    app.log.warn({ ...(error !== undefined && { err: error }), channel: 'profiler' }, message)
  }
}
