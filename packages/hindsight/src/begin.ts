import type { FastifyInstance, FastifyRequest } from 'fastify'
import { checkOptions } from './check-options.js'
import { ApplicationSetup, traceOf, type JobRunner, type Lifecycle } from './recording/trace.js'
import type { HindsightOptions, ProfilerSettings } from './options.js'
import type { ApplicationServices, ResolvedOptions } from './services.js'
import { RouteTable } from './routing/route-table.js'

const ONLY_ERRORS: ProfilerSettings = { onlyExceptions: true, minStatus: 500, production: true }

/** The settings of the option `profiler`; null: nothing is profiled. */
export function profilerSettings (option: HindsightOptions['profiler'] = 'all'): ProfilerSettings | null {
  if (option === false) return null
  if (option === 'all') return {}
  return option === 'errors' ? ONLY_ERRORS : option
}

/** The setting of an application in debug mode, or in production. */
export function recordingSetting (debug: boolean, settings: ProfilerSettings | null): ApplicationSetup['recording'] {
  if (debug) return 'always'
  if (settings?.production !== true) return 'none'
  const { collect = true, collectParameter, onlyExceptions = false } = settings
  return !onlyExceptions && (collect || collectParameter !== undefined) ? 'always' : 'on-failure'
}

/** An application before its services are loaded. */
export interface Opening extends ResolvedOptions {
  setup: ApplicationSetup
  /** To be called with the services: from then on `app.hindsight` is these. */
  publish: (services: ApplicationServices) => void
  /** To be called where there will be none: jobs wait for them. */
  fail: () => void
}

/** The applications of the process that are not closed, in their order. */
export const openApplications = new Set<ApplicationSetup>()

/**
 * Checks the options of an application, and decorates it with its setup. `applications`: where it is until it closes;
 * jobs of the process use the store of the last one in `openApplications`.
 */
export function beginServices (
  app: FastifyInstance, given: HindsightOptions, lifecycle: Lifecycle | null = null, applications = openApplications
): Opening {
  if (app.hasDecorator('hindsight')) {
    throw new Error('fastify-hindsight is registered twice: by two calls of register, or by one and the preload ' +
      'fastify-hindsight/register')
  }
  checkOptions(given)
  const { debug = process.env.NODE_ENV !== 'production' } = given
  const options = { ...given, debug }
  const settings = profilerSettings(options.profiler)
  const recording = recordingSetting(debug, settings)
  const routeTable = new RouteTable(app)
  let settle: (jobs: JobRunner | null) => void = () => {}
  const jobs = new Promise<JobRunner | null>((resolve) => { settle = resolve })
  const setup = new ApplicationSetup({ app, lifecycle, debug, recording, routeTable, jobs })
  applications.add(setup)
  let services: ApplicationServices | null = null
  // Before that, and where nothing is recorded, it is the setup alone. A string, as the type of `app.hindsight` is that
  // of the services.
  const name: string = 'hindsight'
  app.decorate(name, { getter: () => services ?? setup })
  app.decorateRequest('hindsight', { getter: recording === 'none' ? () => NO_CAPTURE : captureOf })
  app.addHook('onClose', async function closeHindsight () {
    applications.delete(setup)
    // A function that is awaited may add more.
    while (setup.closing.length > 0) await setup.closing.pop()?.()
  })
  function publish (complete: ApplicationServices): void {
    services = complete
    complete.recorder?.start()
    settle(complete.recorder?.jobs ?? null)
  }
  return { setup, options, settings, publish, fail: () => settle(null) }
}

/** The type of `request.hindsight`. */
export interface RequestHindsight {
  /**
   * Adds an error, or another thrown value, to the profile of the request: for errors that a framework catches. A
   * profile has at most 25 of them, each once. It may be called after the response. Without a profile it does nothing.
   */
  capture: (error: unknown) => void
  /** The token that its profile will have: the parent of a job that it queues. Null: it has none in any case. */
  readonly token: string | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Hindsight's own functions for this request. */
    hindsight: RequestHindsight
  }
}

const NO_CAPTURE: RequestHindsight = Object.freeze({ capture () {}, token: null })

function captureOf (this: FastifyRequest): RequestHindsight {
  // Work that outlives the request may keep the function.
  const { context } = traceOf(this)
  return {
    capture (error) {
      const { late, request } = context
      if (request === undefined) late?.addError(error)
      else request.scope.hindsight.recorder?.addError(request, error)
    },
    get token () {
      const { late, request } = context
      return late?.token ?? request?.scope.hindsight.recorder?.tokenOf(request) ?? null
    }
  }
}
