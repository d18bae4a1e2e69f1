import { join, sep } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { openHealth } from './health.js'
import { lifecycle } from './lifecycle.js'
import { addStartMessage, observeRoutes } from '../packages/hindsight/src/observe.js'
import { pageServer, registerPages } from '../packages/hindsight/src/page-server.js'
import { openRecorder, prepare, type ResolvedOptions } from '../packages/hindsight/src/prepare.js'
import { ownHook, type LastHook } from '../packages/hindsight/src/lifecycle/hooks.js'
import { stateOf } from '../packages/hindsight/src/lifecycle/state.js'
import { compareMessages } from '../packages/hindsight/src/parts/wire/collector.js'
import { recordHooks } from '../packages/hindsight/src/recording/application-hooks.js'
import { timeHandlers } from '../packages/hindsight/src/recording/handler-time.js'
import { errorHandler } from '../plugins/error-handler.js'
import { notFoundHandler } from '../plugins/not-found-handler.js'
import type { HindsightOptions } from '../packages/hindsight/src/options.js'
import { addInternalFolder } from '../packages/hindsight/src/errors/stack-frame.js'
import { withStackLimit } from '../packages/hindsight/src/call.js'

// The code of the lifecycle is not the application's: that is in `routes/`.
for (const folder of ['app', 'lib', 'plugins']) addInternalFolder(join(import.meta.dirname, '..', folder, sep))

/** Starts `full` mode: the listeners, the handlers of errors and missing routes, and the pages of the profiler. */
export async function openFull (app: FastifyInstance, resolved: ResolvedOptions): Promise<void> {
  const { options, settings } = resolved
  const { debug, recording } = app.hindsight
  observeRoutes(app, resolved)
  prepare(app, resolved)
  checkConflicts(app, options)
  // Stacks show the source that was written.
  if (debug) process.setSourceMapsEnabled(true)
  openHealth(app, options)
  let handler: LastHook | null = null
  if (recording === 'always') {
    handler = timeHandlers(app)
    recordHooks(app, { preHandler: handler, ...debug && compareMessages(app) })
  }
  app.addHook('onRequest', ownHook(function begin (request, reply, done) {
    stateOf(request).scope = request.server
    app.hindsight.recorder?.begin(request, reply)
    done()
  }))
  await app.register(notFoundHandler)
  await app.register(errorHandler)
  if (recording !== 'none') {
    await openRecorder(app, resolved)
    if (settings !== null && debug) {
      const { recordCpuProfiles } = await import('../packages/hindsight/src/parts/cpu/recorder.js')
      const record = recordCpuProfiles(app)
      app.addHook('onRequest', ownHook(function recordCpu (request, reply, done) {
        const starting = record(request, reply)
        if (starting === undefined) done()
        else starting.then(() => done(), done)
      }))
    }
  }
  await prepareListeners(app, resolved)
  for (const { plugin } of Object.values(lifecycle).flat()) await app.register(plugin, options)
  // After the listeners of the controller.
  handler?.addTo(app)
  if (recording !== 'none') {
    app.addHook('onSend', ownHook(function noteResponse (
      request: FastifyRequest, reply: FastifyReply, payload: unknown, done: (error: null, payload: unknown) => void
    ) {
      app.hindsight.recorder?.ready(request, reply)
      done(null, payload)
    }))
  }
  // Outside debug mode the pages are for operators, where they have a role.
  const hasPages = 'profiler' in app.hindsight && (debug || app.hindsight.profiler.role !== undefined)
  if (hasPages) await registerPages(app, '', !debug)
  // Users and roles are those of the listeners.
  if (hasPages && debug && app.hindsight.profiler.role === undefined && options.security === undefined) {
    const pages = pageServer(app)
    app.addHook('preClose', async function closePages () { await pages.close() })
  }
  if (debug && settings !== null) addStartMessage(app)
}

/** Adds the services that several listeners share. */
async function prepareListeners (app: FastifyInstance, { options }: ResolvedOptions): Promise<void> {
  const { security, session } = options
  const hasSession = session !== undefined && session !== false && !app.hindsight.leave.has('session')
  if (hasSession) Object.assign(app.hindsight, { sessionCookie: session.cookieName ?? 'sessionId' })
  if (security === undefined) return
  // Without this option its modules are not loaded.
  const { compileSecurity } = await import('../lib/security/compile.js')
  Object.assign(app.hindsight, { security: await compileSecurity(app, security) })
}

/** Registers only the listeners of these names, in their order: those that options switch on in `observe` mode. */
export async function registerListeners (
  app: FastifyInstance, resolved: ResolvedOptions, names: ReadonlySet<string>
): Promise<void> {
  // Where requests are recorded, this is done already.
  if (app.hindsight.recording === 'none') {
    observeRoutes(app, resolved)
    prepare(app, resolved)
  }
  await prepareListeners(app, resolved)
  const listeners = Object.values(lifecycle).flat().filter(({ listener }) => names.has(listener))
  for (const { plugin } of listeners) await app.register(plugin, resolved.options)
}

/** The listeners that set the same headers as @fastify/helmet. */
const HELMET = ['content-security-policy', 'clickjacking', 'xss-protection', 'referrer-policy', 'content-type']

/** The plugins that have the purpose of a configured listener, with that part of Hindsight and what to change. */
function conflictsOf ({ cors = [], session = false, leave = [] }: HindsightOptions) {
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

/** Throws if a plugin has the purpose of a listener, whether it was registered before Hindsight or in a child. */
function checkConflicts (app: FastifyInstance, options: HindsightOptions): void {
  const conflicts = conflictsOf(options)
  const instances = [app]
  const check = (): void => {
    const found = conflicts.find(({ plugin }) => instances.some((instance) => instance.hasPlugin(plugin)))
    if (found === undefined) return
    const { plugin, part, remedy } = found
    const message = `${plugin} and ${part} of fastify-hindsight (lifecycle: 'full') do the same. ${remedy}.`
    throw withStackLimit(0, () => new Error(message))
  }
  check()
  app.addHook('onRegister', function rememberChild (child) { instances.push(child) })
  app.addHook('onReady', async function checkPlugins () { check() })
}
