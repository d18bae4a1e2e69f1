import type { FastifyInstance, FastifyRequest } from 'fastify'
import { checkOptions } from './check-options.js'
import { contextOf, servicesOf, warnOnce, type Lifecycle, type Services } from './lifecycle/state.js'
import type { HindsightOptions, ProfilerSettings } from './options.js'
import type {} from './recording/recorder.js'
import type { ResolvedOptions } from './prepare.js'

const ONLY_ERRORS: ProfilerSettings = { onlyExceptions: true, minStatus: 500, production: true }

/** The settings of the option `profiler`; null: nothing is profiled. */
export function profilerSettings (option: HindsightOptions['profiler'] = 'all'): ProfilerSettings | null {
  if (option === false) return null
  if (option === 'all') return {}
  return option === 'errors' ? ONLY_ERRORS : option
}

/** The setting of an application in debug mode, or in production. */
function recordingSetting (debug: boolean, settings: ProfilerSettings | null): Services['recording'] {
  if (debug) return 'always'
  if (settings?.production !== true) return 'none'
  const { collect = true, collectParameter, onlyExceptions = false } = settings
  return !onlyExceptions && (collect || collectParameter !== undefined) ? 'always' : 'on-failure'
}

/** Checks the options of an application, and decorates it with its services. */
export function beginServices (
  app: FastifyInstance, given: HindsightOptions, lifecycle: Lifecycle | null = null
): ResolvedOptions {
  if (app.hasDecorator('hindsight')) {
    throw new Error('fastify-hindsight is registered twice: by two calls of register, or by one and the preload ' +
      'fastify-hindsight/register')
  }
  checkOptions(given)
  const { debug = process.env.NODE_ENV !== 'production' } = given
  const options = { ...given, debug }
  const settings = profilerSettings(options.profiler)
  const recording = recordingSetting(debug, settings)
  openServices(app, { debug, lifecycle, recording })
  app.decorateRequest('hindsight', { getter: recording === 'none' ? () => NO_CAPTURE : captureOf })
  return { options, settings }
}

/** Decorates an application with its services, to which `prepare` adds what is loaded later; ends them at its close. */
function openServices (
  app: FastifyInstance, { debug, lifecycle, recording }: Pick<Services, 'debug' | 'lifecycle' | 'recording'>
): void {
  const base = app.prefix.replace(/\/$/, '')
  const closing: Services['closing'] = []
  let isClosing = false
  app.decorate('hindsight', {
    app,
    lifecycle,
    debug,
    base,
    recording,
    warn: lifecycle === null ? warnOnce : warnInLog,
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
  const context = contextOf(this)
  return {
    capture (error) {
      const { late, request } = context
      if (request === undefined) late?.addError(error)
      else servicesOf(request).recorder?.addError(request, error)
    }
  }
}
