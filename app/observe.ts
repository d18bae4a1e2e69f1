import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Plan } from './hindsight.js'
import { recordHooks } from '../lib/lifecycle/application-hooks.js'
import { endHandler, setOutside, timeHandlers } from '../lib/lifecycle/handler-time.js'
import { LastHook } from '../lib/lifecycle/last-hook.js'
import { pathnameOf } from '../lib/http/request-target.js'
import { ownHook } from '../lib/lifecycle/own-hooks.js'
import { requestContext } from '../lib/lifecycle/request-context.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { openRouteTable } from '../lib/routing/route-table.js'

/** The observation of one application. */
export interface Observation {
  /** Adds the hooks again that have to run after those of listeners. */
  addLastHooks: () => void
  /** Resolves when the services of requests are there; rejects at an invalid option. */
  prepared: Promise<void>
  /** Resolves when the plugin may end its registration. */
  ready: Promise<void>
}

/** Milliseconds. */
const MIN_PLUGIN_TIMEOUT = 5_000
const OWN_PATHS = ['/_profiler', '/_profiler/*', '/_wdt/*', '/_error/*']

type Modules = Awaited<ReturnType<typeof loadModules>>
type Sent = (error: null, payload: unknown) => void

/**
 * Begins `observe` mode: profiles and, for clients that may see the debug surface, the diagnostic page in place of Fastify's default errors, the toolbar
 * and two headers. Nothing else of the application changes. Returns null in production, unless requests are profiled there.
 */
export function beginObservation (app: FastifyInstance, plan: Plan): Observation | null {
  const { debug, observed, fromBeginning, base, warn } = app.hindsight
  if (!observed) return null
  openRouteTable(app, debug)
  let modules: Modules | null = null
  const prepared = import('./prepare.js').then(({ prepare }) => { prepare(app, plan) })
  const loading = prepared.then(async () => { modules = await loadModules(app, plan) })
  const loaded = loading.catch((error: unknown) => { warn('Requests are not profiled', error) })
  // An application may be closed before all is loaded.
  app.hindsight.closing.push(async () => { await loading.catch(() => {}) })
  const own = /^\/_(?:profiler|wdt|error)(?:\/|$)/
  const isOwn = (request: FastifyRequest): boolean => {
    const path = pathnameOf(request)
    return debug && plan.settings !== null && path.startsWith(base) && own.test(path.slice(base.length)) && app.hindsight.mayReadDebug(request)
  }

  function open (request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    let context: { request: FastifyRequest, reply: FastifyReply } | undefined
    let recording: undefined | Promise<void>
    try {
      if (modules !== null) {
        if (isOwn(request)) return modules.servePage(request, reply)
        if (modules.open(request, reply)) context = { request, reply }
        recording = modules.cpu?.begin(request, reply)
      }
    } catch (error) {
      warn('A request is not observed', error)
    }
    if (recording === undefined) requestContext.run(context, done)
    else recording.then(() => requestContext.run(context, done), () => requestContext.run(context, done))
  }

  // The hooks of the application find what the handler has sent.
  const response = new LastHook('onSend', (isLast) => function hindsightResponse (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Sent) {
    let sent = payload
    try {
      if (modules !== null && isLast(request)) sent = modules.respond(request, reply, payload)
    } catch (error) {
      warn('A response was not observed', error)
    }
    done(null, sent)
  })

  app.addHook('onRequest', ownHook(function hindsightRequest (request, reply, done) {
    if (modules !== null) open(request, reply, done)
    else loading.then(() => open(request, reply, done), () => done())
  }))
  app.addHook('onError', ownHook(function hindsightError (request: FastifyRequest, reply: FastifyReply, error: unknown, done: () => void) {
    try {
      app.hindsight.collectRequest?.(request)
      modules?.noteFailure(request, reply, error)
    } catch (failure) {
      warn('An error was not recorded', failure)
    }
    // The parser of the body leaves the asynchronous context of its request, in which error handlers log.
    requestContext.run({ request, reply }, done)
  }))
  // A request without a route does not pass the hooks of a part of the application.
  const isPart = app.pluginName.split(' -> ')[0] !== 'fastify'
  if (debug && (isPart || base !== '')) for (const path of OWN_PATHS) app.all(path, { config: { profile: false } }, (_request, reply) => { reply.callNotFound() })
  response.addTo(app)
  const handler = fromBeginning ? timeHandlers(app) : null
  if (handler !== null && debug) recordHooks(app, { preHandler: handler, onSend: response })
  // An application with a short time for plugins does not wait for the modules: its first request does.
  const { pluginTimeout = 0 } = app.initialConfig
  const hasTime = pluginTimeout === 0 || pluginTimeout >= MIN_PLUGIN_TIMEOUT
  const hasOtlp = plan.settings?.otlp !== undefined && plan.settings.otlp !== false
  const addLastHooks = (): void => { for (const last of [handler, response]) last?.addTo(app) }
  const ready = hasOtlp ? loading : hasTime ? prepared.then(() => loaded) : Promise.resolve()
  // The preload begins before anything awaits it.
  ready.catch(() => {})
  return { addLastHooks, prepared, ready }
}

/** The modules that debug mode and profiles need. */
export async function importModules () {
  return {
    ...await import('../lib/lifecycle/pass.js'),
    ...await import('../lib/lifecycle/responses.js'),
    ...await import('../lib/routing/route-match.js'),
    ...await import('../lib/profiler/request-diagnostics.js'),
    ...await import('../lib/errors/declared-place.js'),
    ...await import('./profiles.js'),
    ...await import('../lib/profiler/request-profiles.js'),
    ...await import('../lib/profiler/panels/router-collector.js'),
    ...await import('../lib/profiler/panels/request-collector.js'),
    ...await import('../lib/errors/observed-answer.js'),
    ...await import('../lib/errors/diagnostic-page.js'),
    ...await import('../lib/profiler/pages/toolbar/insert.js'),
    ...await import('../lib/profiler/server-timing.js'),
    ...await import('../lib/profiler/cpu/recorder.js'),
    ...await import('./page-server.js')
  }
}

async function loadModules (app: FastifyInstance, { options, settings }: Plan) {
  const { debug, fromBeginning, maySeeDebug } = app.hindsight
  const imported = await importModules()
  const { addServerTiming, beginRequest, diagnosticAnswer, insertToolbar, isStream, missedRoute, noteFailure, noteSecondError, observe } = imported
  const { openDiagnostics, openProfiler, openRequestProfiles, pageServer, routeMatchOf, setProfileLink } = imported
  const diagnostics = openDiagnostics(app)
  const pages = debug ? await imported.loadPages() : null
  if (settings !== null) await openProfiler(app, settings, options)
  if (debug) app.hindsight.placeOf = imported.declaredPlace
  const profiles = settings === null ? null : openRequestProfiles(app, settings, options)
  const collectRoute = imported.routeCollector(app)
  const collectRequest = imported.requestCollector(app)
  const collectResponse = imported.responseCollector(app)
  const { toolbar = true, serverTiming = false } = options
  const insert = toolbar && debug ? insertToolbar(app) : null
  const cpu = fromBeginning && (debug || settings?.onDemand !== undefined) ? imported.openCpuProfiles(app, settings?.maxProfileBytes) : null
  app.hindsight.collectRequest = (request) => {
    const state = stateOf(request)
    if (!state.observed || state.requestCollected) return
    state.requestCollected = true
    // Getters of the application may throw.
    try {
      collectRoute(request)
      collectRequest(request)
    } catch (error) {
      app.hindsight.warn('A request was not recorded', error)
    }
  }

  /** Begins a request; false where it is not observed. */
  function open (request: FastifyRequest, reply: FastifyReply): boolean {
    beginRequest(request, reply)
    stateOf(request).route = routeMatchOf(request)
    return diagnostics.open(request, reply)
  }

  function respond (request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
    const state = stateOf(request)
    state.responses++
    endHandler(request)
    state.missed ??= missedRoute(request, reply)
    const isProfiled = profiles?.isProfiled(request, reply) === true
    if (!isProfiled && !state.observed) return payload
    observe(request, reply)
    app.hindsight.collectRequest?.(request)
    // A failing hook of the response keeps Fastify's answer; a stream that fails is a failure of the handler.
    const isFirst = !state.sendFailed && (state.responses === 1 || state.streamed)
    state.streamed = isStream(payload)
    const page = pages === null || !isFirst ? null : diagnosticAnswer(pages, request, reply, payload)
    if (page === null) noteSecondError(request, reply, payload)
    let sent = page ?? payload
    if (page === null) state.recorder?.setOutside(reply, 'Hindsight')
    if (isProfiled) {
      const token = profiles.begin(request, reply, payload)
      if (maySeeDebug(request)) reply.header('x-debug-token', token)
      if (setProfileLink(app, request, reply) && page === null && request.method !== 'HEAD') sent = insert?.(request, reply, payload) ?? payload
    }
    if (serverTiming && app.hindsight.mayReadDebug(request)) addServerTiming(request, reply)
    collectResponse(request, reply, sent)
    state.headAt = performance.now()
    // Only hooks of the route come after this.
    setOutside(request, reply, 'route')
    return sent
  }

  return { cpu, noteFailure, open, respond, servePage: pageServer(app) }
}
