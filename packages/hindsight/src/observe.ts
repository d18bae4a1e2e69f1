import cluster from 'node:cluster'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { beginServices, type Opening } from './begin.js'
import { settlesWithin } from './call.js'
import { performance } from './clock.js'
import type { Observer } from './observer.js'
import { PROFILER_SEGMENTS } from './http/requests.js'
import { LastHook, internalHook } from './recording/hooks.js'
import { requestContext, traceOf, type RequestContext } from './recording/trace.js'
import type { HindsightOptions, ProfilerSettings } from './options.js'
import { addRequestHooks, addRouteHooks } from './parts/hooks.js'
import { recordHooks } from './recording/application-hooks.js'
import { timeHandlers } from './recording/handler-time.js'
import { preparedDrivers, preparedQueues } from './queries/channel.js'
import { announceStart, START_FILE } from './open-browser.js'
import { MemoryStorage } from './store/memory.js'
import { checkStorageSetting, DEFAULT_DATA_DIR } from './store/open.js'
import { announceServer } from './store/running-servers.js'
import { presentItems } from './view/text.js'
import { warmUp } from './warm-up.js'

/** The paths of the profiler, below the prefix of the application. */
const PROFILER_PATHS = PROFILER_SEGMENTS.flatMap((segment) => [`/${segment}`, `/${segment}/*`])

/** Nothing of the requests that warm up is kept. */
const WARM_UP: HindsightOptions = {
  debug: true,
  values: false,
  profiler: { storage: new MemoryStorage({ maxProfiles: 1 }) }
}

type Sent = (error: null, payload: unknown) => void

/** Records the routes of an application, and in debug mode checks their budgets of queries. */
export function observeRoutes ({ setup: { app, routeTable }, options }: Opening): void {
  routeTable.observe(app, options.debug)
  if (options.debug) addRouteHooks(app, options)
}

/**
 * Observes an application from its creation, before its hooks and routes: the preload.
 * It registers no plugin: `pluginName` of the application would have its name.
 */
export function preloadApplication (app: FastifyInstance, options: HindsightOptions): void {
  const opening = beginServices(app, options)
  if (opening.setup.recording === 'none') return
  const observation = beginObservation(app, opening)
  app.addHook('onReady', async function hindsightReady () {
    checkStorageSetting(opening.settings?.storage)
    await observation.ready
  })
}

/**
 * Starts to observe an application: adds the hooks, and loads `observer.ts`, which has the functions that they call.
 * `started`: when the time of the plugin began.
 */
export function beginObservation (app: FastifyInstance, opening: Opening, started = performance.now()) {
  const { setup } = opening
  const { debug, recording: setting, base, warn } = setup
  observeRoutes(opening)
  /** Undefined while it is loaded, null where that has failed. */
  let observer: Observer | null | undefined

  const prepared = import('./prepare.js').then(({ prepareRecording }) => prepareRecording(setup, opening))
  const loaded = prepared.then(async (services) => {
    const { openObserver } = await import('./observer.js')
    observer = await openObserver(opening, services)
  }).catch((error: unknown) => {
    observer = null
    opening.fail()
    warn('Requests are not profiled', error)
  })
  // An application may be closed before all is loaded.
  setup.closing.push(async () => { await loaded })

  // The hooks of the application receive what the handler has sent.
  const response = new LastHook('onSend', (isLast) => function hindsightResponse (
    request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Sent
  ) {
    if (!isLast(request)) return done(null, payload)
    let sent = payload
    try {
      sent = observer?.respond(traceOf(request), payload) ?? payload
    } catch (error) {
      warn('A response was not recorded', error)
    }
    if (sent instanceof Promise && sent !== payload) sent.then((later: unknown) => done(null, later))
    else done(null, sent)
  })

  // What follows is called from here, without functions in between: they would be in stacks of the application.
  app.addHook('onRequest', internalHook(function hindsightRequest (
    request: FastifyRequest, reply: FastifyReply, done: () => void
  ): void {
    if (observer === undefined) {
      loaded.then(() => hindsightRequest(request, reply, done))
      return
    }
    let context: RequestContext | undefined
    let arrival: undefined | Promise<unknown>
    try {
      if (observer?.pages?.serve(request, reply) === true) return
      const trace = traceOf(request)
      trace.begin(reply)
      if (observer?.begin(trace) === true) context = trace.context
      arrival = observer?.arrive?.(trace)
    } catch (error) {
      warn('A request is not recorded', error)
    }
    // Undefined ends the context of an earlier request of the connection, or of one that injects this request.
    if (arrival === undefined) return requestContext.run(context, done)
    const next = (): void => requestContext.run(context, done)
    arrival.then(next, next)
  }))
  app.addHook('onError', internalHook(function hindsightError (
    request: FastifyRequest, reply: FastifyReply, error: unknown, done: () => void
  ) {
    try {
      observer?.fail(traceOf(request), error)
    } catch (failure) {
      warn('An error was not recorded', failure)
    }
    done()
  }))
  // A request without a route does not run the hooks of an encapsulated plugin.
  const isEncapsulated = app.pluginName.split(' -> ')[0] !== 'fastify'
  if (debug && (isEncapsulated || base !== '')) {
    const notFound = (_request: FastifyRequest, reply: FastifyReply): void => { reply.callNotFound() }
    for (const path of PROFILER_PATHS) app.all(path, { config: { profile: false } as object }, notFound)
  }
  const others = debug && setting === 'always' ? addRequestHooks(app) : {}
  if (debug) {
    app.addHook('preClose', async function closePages () {
      setup.beginClosing()
      await observer?.pages?.close()
    })
  }
  if (debug && opening.settings !== null) addStartMessage(app, opening.settings)
  const handler = setting === 'always' ? timeHandlers(app, (trace) => observer?.collectRequest(trace)) : null
  // A response begins with the hook before.
  response.addTo(app)
  if (handler !== null && debug) recordHooks(app, { preHandler: handler, onSend: response, ...others })
  // The first request waits for modules that are not loaded in half of the time that a plugin has, this one included.
  const { pluginTimeout = 0 } = app.initialConfig
  const limit = pluginTimeout === 0 ? Infinity : started + pluginTimeout / 2 - performance.now()
  const ready = limit > 0 ? settlesWithin(prepared.then(() => loaded), limit) : Promise.resolve()
  // The preload awaits it later.
  ready.catch(() => {})
  return {
    /** Resolves when the application may start. */
    ready
  }
}

/**
 * Starts the thread of the store when the application listens, and prints the address of the profiler: with a
 * lifecycle to the log, and else to standard error, which need not be a terminal.
 */
export function addStartMessage (
  app: FastifyInstance, { dataDir = DEFAULT_DATA_DIR }: ProfilerSettings,
  stderr: Pick<NodeJS.WriteStream, 'write'> = process.stderr
): void {
  app.addHook('onListen', function printAddress (done) {
    const { hasProfiles, lifecycle, profilerUrl, closing } = app.hindsight
    // What takes long to load may come later than this.
    if (hasProfiles) app.hindsight.profiler.warmUp()
    setImmediate(() => {
      // The jobs of the process are not for its store.
      warmUp((instance) => beginObservation(instance, beginServices(instance, WARM_UP, null, new Set())).ready)
        .catch(() => {})
    })
    const { NODE_ENV, NODE_TEST_CONTEXT, [START_FILE]: startFile } = process.env
    if (profilerUrl !== null) {
      // For commands; until the application closes.
      if (NODE_ENV !== 'test') closing.push(announceServer(dataDir, profilerUrl))
      const message = `Profiler: ${profilerUrl}${observedDrivers()}`
      const isTest = NODE_ENV === 'test' || NODE_TEST_CONTEXT !== undefined
      if (lifecycle !== null) app.log.info({ channel: 'profiler' }, message)
      else if (!cluster.isWorker && !isTest) stderr.write(`${message}\n`)
    }
    if (startFile !== undefined) announceStart(startFile, profilerUrl)
    done()
  })
}

/** The drivers and clients that the preload has prepared, in words; the application may use none of them. */
function observedDrivers (): string {
  const prepared = presentItems([
    preparedDrivers.length > 0 && `queries of ${preparedDrivers.join(', ')}`,
    preparedQueues.length > 0 && `jobs of ${preparedQueues.join(', ')}`
  ])
  return prepared.length === 0 ? '' : ` (ready for ${prepared.join(', and ')})`
}
