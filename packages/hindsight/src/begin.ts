import type { FastifyInstance, FastifyRequest } from 'fastify'
import { checkOptions } from './check-options.js'
import { ApplicationSetup, traceOf, type Lifecycle } from './recording/trace.js'
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
function recordingSetting (debug: boolean, settings: ProfilerSettings | null): ApplicationSetup['recording'] {
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
}

/** Checks the options of an application, and decorates it with its setup. */
export function beginServices (
  app: FastifyInstance, given: HindsightOptions, lifecycle: Lifecycle | null = null
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
  const setup = new ApplicationSetup({ app, lifecycle, debug, recording, routeTable })
  let services: ApplicationServices | null = null
  // Before that, and where nothing is recorded, it is the setup alone. A string, as the type of `app.hindsight` is that
  // of the services.
  const name: string = 'hindsight'
  app.decorate(name, { getter: () => services ?? setup })
  app.decorateRequest('hindsight', { getter: recording === 'none' ? () => NO_CAPTURE : captureOf })
  app.addHook('onClose', async function closeHindsight () {
    // A function that is awaited may add more.
    while (setup.closing.length > 0) await setup.closing.pop()?.()
  })
  function publish (complete: ApplicationServices): void {
    services = complete
    complete.recorder?.start()
  }
  return { setup, options, settings, publish }
}

/** The type of `request.hindsight`. */
export interface RequestHindsight {
  /**
   * Adds an error, or another thrown value, to the profile of the request: for errors that a framework catches. A
   * profile has at most 25 of them, each once. It may be called after the response. Without a profile it does nothing.
   */
  capture: (error: unknown) => void
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Hindsight's own functions for this request. */
    hindsight: RequestHindsight
  }
}

const NO_CAPTURE: RequestHindsight = Object.freeze({ capture () {} })

function captureOf (this: FastifyRequest): RequestHindsight {
  // Work that outlives the request may keep the function.
  const { context } = traceOf(this)
  return {
    capture (error) {
      const { late, trace } = context
      if (trace === undefined) late?.addError(error)
      else trace.scope.hindsight.recorder?.addError(trace, error)
    }
  }
}
