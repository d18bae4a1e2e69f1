import type { FastifyInstance } from 'fastify'
import { listenersOf } from '../lib/check-options.js'
import { warnOnce, type Services } from '../lib/lifecycle/services.js'
import type { HindsightOptions } from '../lib/options.js'
import { openRouteTable } from '../lib/routing/route-table.js'

/** Decorates an application with its services, to which `prepare` adds what is loaded later; ends them at its close. */
export function openServices (
  app: FastifyInstance, options: HindsightOptions, recording: Services['recording']
): void {
  const { debug = false, leave = [], lifecycle: mode = 'observe' } = options
  const base = app.prefix.replace(/\/$/, '')
  const closing: Services['closing'] = []
  let isClosing = false
  const needsRoutes = mode === 'full' || recording !== 'none' || listenersOf(options).size > 0
  app.decorate('hindsight', {
    app,
    mode,
    lifecycle: { slots: [] },
    ...(needsRoutes && { routeTable: openRouteTable(app, debug) }),
    debug,
    base,
    recording,
    leave: new Set(leave),
    readinessChecks: [],
    warn: mode === 'full' ? warnInLog : warnOnce,
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
