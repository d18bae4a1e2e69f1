import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { lifecycle } from './lifecycle.js'
import { checkOptions } from './check-options.js'
import { openHealth } from './health.js'
import type { HindsightOptions } from './options.js'
import { OPTIONS } from './options-table.js'
import { installHandlers } from '../plugins/diagnostics/handlers.js'
import { timeHandlers } from '../plugins/kernel/handler-time.js'
import { openPass } from '../plugins/kernel/pass.js'
import { openServices } from '../plugins/kernel/services.js'
import { wantsFromBeginning } from '../plugins/profiler/collect-policy.js'
import { demandNames } from '../plugins/profiler/on-demand.js'
import { profilerSettings, type ProfilerSettings } from '../plugins/profiler/settings.js'
import type { Warn } from '../plugins/profiler/write-queue.js'
import { openRouteTable } from '../plugins/routing/route-table.js'

/** The lifecycle as one plugin: the 42 listeners in their order, the handlers of what fails, and the profiler. */
export const hindsight = fp(async function hindsight (app: FastifyInstance, options: HindsightOptions) {
  checkOptions(options, OPTIONS)
  const { debug = false } = options
  // Stacks are read by people: in the coordinates of the source that they wrote.
  if (debug) process.setSourceMapsEnabled(true)
  const settings = profilerSettings(options.profiler)
  const profiled = debug || settings?.production === true
  const fromBeginning = debug || (profiled && settings !== null && wantsFromBeginning(settings))
  openServices(app, { ...options, mask: [...options.mask ?? [], ...demandNames(settings?.onDemand)] }, profiled, fromBeginning)
  openHealth(app, options)
  openRouteTable(app, debug)
  timeHandlers(app, fromBeginning)
  openPass(app)
  if (profiled) await openProfiler(app, settings, options)
  for (const listeners of Object.values(lifecycle)) {
    for (const { plugin } of listeners) await app.register(plugin, options)
  }
  await installHandlers(app)
}, { fastify: '5.x', name: 'fastify-hindsight' })

async function openProfiler (app: FastifyInstance, settings: ProfilerSettings | null, { debug, session, security }: HindsightOptions): Promise<void> {
  const { Profiler } = await import('../plugins/profiler/profiler.js')
  const { openStorage } = await import('../plugins/profiler/storage/open.js')
  const { DEFAULT_BOUNDS } = await import('../plugins/profiler/storage/storage.js')
  const warn: Warn = (message, error) => app.log.warn({ ...(error !== undefined && { err: error }), channel: 'profiler' }, message)
  const { maxQueue, maxProfileBytes, ...others } = settings ?? { storage: 'memory' }
  const role = debug === true ? undefined : settings?.role
  if (role !== undefined && security === undefined) throw new Error('profiler.role (PROFILER_ROLE): nobody can have a role without security; set the option security, with a firewall for /_profiler')
  const storage = await openStorage({ ...DEFAULT_BOUNDS, ...others, warn })
  const secret = session === false ? undefined : session?.secret
  const profiler = new Profiler({
    storage,
    warn,
    ...(role !== undefined && { role }),
    ...(maxQueue !== undefined && { maxQueue }),
    ...(maxProfileBytes !== undefined && { maxProfileBytes }),
    ...(secret !== undefined && { secret: Array.isArray(secret) ? String(secret[0]) : secret })
  })
  app.decorate('profiler', profiler)
  app.addHook('onClose', () => profiler.close())
  if (settings !== null && (debug === true || settings.onDemand !== undefined)) (await import('../plugins/profiler/cpu/open.js')).openCpuProfiles(app, maxProfileBytes)
}
