import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { lifecycle } from './lifecycle.js'
import { checkOptions } from './check-options.js'
import { openHealth } from './health.js'
import { checkLeave } from './leave.js'
import type { HindsightOptions } from './options.js'
import { OPTIONS } from './options-table.js'
import { setHandlers } from '../plugins/diagnostics/handlers.js'
import { keptBy } from '../plugins/kernel/fastify-symbols.js'
import { timeHandlers } from '../plugins/kernel/handler-time.js'
import { registeredSoFar, yieldToOthers } from '../plugins/kernel/other-plugins.js'
import { openPass } from '../plugins/kernel/pass.js'
import { openServices } from '../plugins/kernel/services.js'
import { keepTickShape } from '../plugins/kernel/tick-shape.js'
import { wantsFromBeginning } from '../plugins/profiler/collect-policy.js'
import { demandNames } from '../plugins/profiler/on-demand.js'
import { profilerSettings, type ProfilerSettings } from '../plugins/profiler/settings.js'
import type { Warn } from '../plugins/profiler/write-metrics.js'
import { openRouteTable } from '../plugins/routing/route-table.js'

/** The lifecycle as one plugin: the 42 listeners in their order, the handlers of what fails, the profiler and its pages. */
export const hindsight = fp(async function hindsight (app: FastifyInstance, options: HindsightOptions) {
  if (app.hasDecorator('hindsight')) {
    throw new Error(app.hindsight.attached
      ? 'fastify-hindsight is there already: the process was started with fastify-hindsight/register; leave out that, or the plugin'
      : 'fastify-hindsight is registered twice')
  }
  if (isPart(app)) {
    app.log.warn('fastify-hindsight is registered in a part of the application: requests of other parts, and those that no route takes, have no diagnostic pages and profiles. ' +
      'Register it at the root; what fastify-cli loads is at the root if it is exported by fastify-plugin.')
  }
  await openLifecycle(app, options).load()
  await openPages(app)
}, { fastify: '5.x', name: 'fastify-hindsight' })

// An encapsulated instance has the one around it as its prototype.
function isPart (app: FastifyInstance): boolean {
  return Object.getPrototypeOf(app) !== Object.prototype
}

/**
 * Opens the lifecycle of an application: at once what has to be there ahead of its routes and hooks, and by `load`, within a plugin, the rest.
 * `attached`: from outside, so that it answers as it would without.
 */
export function openLifecycle (app: FastifyInstance, given: HindsightOptions, attached = false): { load: () => Promise<void> } {
  checkOptions(given, OPTIONS)
  checkLeave(given.leave)
  const { debug = process.env.NODE_ENV !== 'production' } = given
  const options = { ...given, debug }
  // Stacks are read by people: in the coordinates of the source that they wrote.
  if (debug) process.setSourceMapsEnabled(true)
  keepTickShape()
  const settings = profilerSettings(options.profiler)
  const before = registeredSoFar(app)
  const profiled = debug || settings?.production === true
  const fromBeginning = debug || (profiled && settings !== null && wantsFromBeginning(settings))
  openServices(app, { ...options, attached, mask: [...options.mask ?? [], ...demandNames(settings?.onDemand)] }, profiled, fromBeginning)
  openHealth(app, options)
  openRouteTable(app, debug, !attached)
  timeHandlers(app, fromBeginning)
  openPass(app)
  const handlers = setHandlers(app, options)
  return {
    async load () {
      // Fastify calls an instance by all the plugins that have opened it: ours would fill its messages, and each span of an instrumentation.
      const names = keptBy<string[]>(app, 'fastify.pluginNameChain')
      const known = (names?.length ?? 0) - (attached ? 1 : 0)
      if (profiled) await openProfiler(app, settings, options, attached)
      for (const listeners of Object.values(lifecycle)) {
        for (const { plugin } of listeners) await app.register(plugin, options)
      }
      await handlers.load()
      const ours = registeredSoFar(app).slice(before.length)
      names?.splice(known)
      app.addHook('onReady', function respectOthers (done) {
        yieldToOthers(app, app.lifecycle.slots, ours)
        done()
      })
    }
  }
}

// Outside debug mode those that operators need, where they have a role.
async function openPages (app: FastifyInstance): Promise<void> {
  const { debug } = app.hindsight
  if (!app.hasDecorator('profiler') || !(debug || app.profiler.role !== undefined)) return
  const { default: profilerRoutes } = await import('../routes/_profiler/index.js')
  await app.register(profilerRoutes, { prefix: '/_profiler' })
  if (!debug) return
  const { default: toolbarRoutes } = await import('../routes/_wdt/index.js')
  const { default: errorRoutes } = await import('../routes/_error/index.js')
  await app.register(toolbarRoutes, { prefix: '/_wdt' })
  await app.register(errorRoutes, { prefix: '/_error' })
}

async function openProfiler (app: FastifyInstance, settings: ProfilerSettings | null, { debug, session, security, leave }: HindsightOptions, attached: boolean): Promise<void> {
  const { Profiler } = await import('../plugins/profiler/profiler.js')
  const { openStorage } = await import('../plugins/profiler/storage/open.js')
  const { DEFAULT_BOUNDS } = await import('../plugins/profiler/storage/storage.js')
  const warn: Warn = (message, error) => app.log.warn({ ...(error !== undefined && { err: error }), channel: 'profiler' }, message)
  const { maxQueue, maxProfileBytes, ...others } = settings ?? { storage: 'memory' }
  const role = debug === true ? undefined : settings?.role
  if (role !== undefined && security === undefined) throw new Error('profiler.role (PROFILER_ROLE): nobody can have a role without security; set the option security, with a firewall for /_profiler')
  if (role !== undefined && leave?.includes('is-granted') === true) throw new Error('Option "leave": "is-granted" cannot be left to the application, as it keeps the pages of the profiler for profiler.role (PROFILER_ROLE)')
  const { otlp = false } = settings ?? {}
  const exporter = otlp === false ? undefined : (await import('../plugins/profiler/otlp/open.js')).openExporter(otlp, warn)
  // An application that is only observed starts whatever can be stored.
  const storage = await openStorage({ ...DEFAULT_BOUNDS, ...others, checkPlace: !attached, warn })
  const secret = session === false ? undefined : session?.secret
  const profiler = new Profiler({
    storage,
    warn,
    ...(exporter !== undefined && { exporter }),
    ...(role !== undefined && { role }),
    ...(maxQueue !== undefined && { maxQueue }),
    ...(maxProfileBytes !== undefined && { maxProfileBytes }),
    ...(secret !== undefined && { secret: Array.isArray(secret) ? String(secret[0]) : secret })
  })
  app.decorate('profiler', profiler)
  app.addHook('onClose', () => profiler.close())
  if (settings !== null && (debug === true || settings.onDemand !== undefined)) (await import('../plugins/profiler/cpu/open.js')).openCpuProfiles(app, maxProfileBytes)
}
