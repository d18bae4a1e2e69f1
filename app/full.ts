import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Plan } from './hindsight.js'
import { checkConflicts } from './conflicts.js'
import { openHealth } from './health.js'
import { checkLeave } from './leave.js'
import { lifecycle } from './lifecycle.js'
import { prepare } from './prepare.js'
import { openProfiler } from './profiles.js'
import { setHandlers } from '../plugins/error-handlers.js'
import { recordHooks } from '../lib/lifecycle/application-hooks.js'
import { setOutside, timeHandlers } from '../lib/lifecycle/handler-time.js'
import type { LastHook } from '../lib/lifecycle/last-hook.js'
import { requestHook } from '../lib/lifecycle/listener.js'
import { adoptMessages } from '../lib/http/malformed.js'
import { ownHook } from '../lib/lifecycle/own-hooks.js'
import { beginRequest } from '../lib/lifecycle/pass.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { openRouteTable } from '../lib/routing/route-table.js'

/** Opens `full` mode: the 42 listeners in their order, the handlers of errors and of missing routes, and the pages of the profiler. */
export async function openFull (app: FastifyInstance, plan: Plan): Promise<void> {
  const { options, settings } = plan
  const { debug, observed, fromBeginning } = app.hindsight
  prepare(app, plan)
  checkLeave(options.leave)
  checkConflicts(app, options)
  // Stacks show the source that was written.
  if (debug) process.setSourceMapsEnabled(true)
  openHealth(app, options)
  openRouteTable(app, debug)
  adoptMessages(app)
  let handler: LastHook | null = null
  if (fromBeginning) {
    app.hindsight.placeOf = (await import('../lib/errors/declared-place.js')).declaredPlace
    handler = timeHandlers(app)
    recordHooks(app, { preHandler: handler })
  }
  app.addHook('onRequest', ownHook(requestHook(beginRequest)))
  const handlers = setHandlers(app)
  if (observed) {
    await openProfiler(app, settings, options)
    if (settings !== null && (debug || settings.onDemand !== undefined)) await openCpuProfiles(app, settings.maxProfileBytes)
  }
  for (const listeners of Object.values(lifecycle)) {
    for (const { plugin } of listeners) await app.register(plugin, options)
  }
  // After the listeners of the controller.
  handler?.addTo(app)
  app.addHook('onSend', ownHook(function noteResponse (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: (error: null, payload: unknown) => void) {
    const state = stateOf(request)
    if (state.observed && state.headAt === 0) state.headAt = performance.now()
    setOutside(request, reply, 'route')
    done(null, payload)
  }))
  await handlers.load()
  await openPages(app)
}

/** Registers only the listeners of these names, in their order: those that options switch on in `observe` mode. */
export async function registerListeners (app: FastifyInstance, plan: Plan, names: ReadonlySet<string>): Promise<void> {
  const { options, observation } = plan
  // Otherwise the observation has done both.
  if (observation === null) {
    prepare(app, plan)
    openRouteTable(app, false)
  }
  for (const listeners of Object.values(lifecycle)) {
    for (const { listener, plugin } of listeners) if (names.has(listener)) await app.register(plugin, options)
  }
}

async function openCpuProfiles (app: FastifyInstance, maxProfileBytes: number | undefined): Promise<void> {
  const { openCpuProfiles } = await import('../lib/profiler/cpu/recorder.js')
  const cpu = openCpuProfiles(app, maxProfileBytes)
  app.addHook('onRequest', ownHook(requestHook(cpu.begin)))
  app.addHook('onResponse', ownHook(function countOthers (request, _reply, done) {
    cpu.end(request)
    done()
  }))
}

// Outside debug mode the pages that operators need, where they have a role.
async function openPages (app: FastifyInstance): Promise<void> {
  const { debug } = app.hindsight
  if (!('profiler' in app.hindsight) || !(debug || app.hindsight.profiler.role !== undefined)) return
  const { default: profilerRoutes } = await import('../routes/_profiler/index.js')
  await app.register(profilerRoutes, { prefix: '/_profiler' })
  if (!debug) return
  const { default: toolbarRoutes } = await import('../routes/_wdt/index.js')
  const { default: errorRoutes } = await import('../routes/_error/index.js')
  await app.register(toolbarRoutes, { prefix: '/_wdt' })
  await app.register(errorRoutes, { prefix: '/_error' })
}
