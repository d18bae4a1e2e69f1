import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { lifecycle } from './lifecycle.js'
import { checkOptions } from './check-options.js'
import type { HindsightOptions } from './options.js'
import { OPTIONS } from './options-table.js'
import { installHandlers } from '../plugins/diagnostics/handlers.js'
import { timeHandlers } from '../plugins/kernel/handler-time.js'
import { openPass } from '../plugins/kernel/pass.js'
import { openServices } from '../plugins/kernel/services.js'
import { MemoryStorage } from '../plugins/profiler/storage/memory.js'
import { Profiler } from '../plugins/profiler/profiler.js'
import { openRouteTable } from '../plugins/routing/route-table.js'

/** The lifecycle as one plugin: the 42 listeners in their order, the handlers of what fails, and the profiler. */
export const hindsight = fp(async function hindsight (app: FastifyInstance, options: HindsightOptions) {
  checkOptions(options, OPTIONS)
  const { debug = false, maxProfiles } = options
  // Stacks are read by people: in the coordinates of the source that they wrote.
  if (debug) process.setSourceMapsEnabled(true)
  openServices(app, options)
  openRouteTable(app, debug)
  timeHandlers(app, debug)
  openPass(app)
  if (debug) openProfiler(app, maxProfiles)
  for (const listeners of Object.values(lifecycle)) {
    for (const { plugin } of listeners) await app.register(plugin, options)
  }
  installHandlers(app)
}, { fastify: '5.x', name: 'fastify-hindsight' })

function openProfiler (app: FastifyInstance, maxProfiles?: number): void {
  const storage = new MemoryStorage(maxProfiles === undefined ? {} : { maxProfiles })
  const profiler = new Profiler({ storage, warn: (message, error) => app.log.warn({ err: error }, message) })
  app.decorate('profiler', profiler)
  app.addHook('onClose', () => profiler.close())
}
