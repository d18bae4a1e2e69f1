import type { FastifyInstance } from 'fastify'
import { ownHook } from '../lib/lifecycle/listener.js'
import type { HindsightOptions } from '../lib/options.js'
import { settlesWithin } from '../lib/profiler/write-queue.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The check that a route answers, before the lifecycle. */
    healthCheck?: () => Promise<boolean>
  }
}

/** Milliseconds after which a need that has not answered is unavailable. */
const TIMEOUT = 2_000
/** Milliseconds for which a result is used again. */
const MAX_AGE = 1_000

/**
 * Adds the health-check endpoints. They are answered before the first listener: they need no host, no login and no
 * session, add no profile and no log line, and contain no information but their status.
 */
export function openHealth (app: FastifyInstance, { health = false }: HindsightOptions): void {
  app.addHook('preClose', async function markClosing () { app.hindsight.isClosing = true })
  if (!health) return
  app.addHook('onRequest', ownHook(function answerHealth (request, reply, done) {
    const { healthCheck } = request.routeOptions.config
    if (healthCheck === undefined) return done()
    reply.hijack()
    healthCheck().then((isUp) => {
      const body = isUp ? 'ok\n' : 'unavailable\n'
      reply.raw.writeHead(isUp ? 200 : 503, {
        'content-type': 'text/plain; charset=utf-8',
        'content-length': body.length,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff'
      }).end(body)
    })
  }))
  let checkedAt = -Infinity
  let checked = Promise.resolve(false)
  // Anyone may send the request: the store is asked once a second at most.
  const isReady = async (): Promise<boolean> => {
    if (performance.now() - checkedAt > MAX_AGE && !app.hindsight.isClosing) {
      checkedAt = performance.now()
      const all = Promise.all(app.hindsight.needs.map(async (need) => { await need() }))
      checked = settlesWithin(all, TIMEOUT).catch(() => false)
    }
    return await checked && !app.hindsight.isClosing
  }
  const config = { profile: false }
  app.get('/livez', { config: { ...config, healthCheck: async () => true }, logLevel: 'silent' }, async () => {})
  app.get('/readyz', { config: { ...config, healthCheck: isReady }, logLevel: 'silent' }, async () => {})
}
