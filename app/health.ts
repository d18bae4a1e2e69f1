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
  const isReady = async (): Promise<boolean> => {
    const all = Promise.all(app.hindsight.needs.map(async (need) => { await need() }))
    return await settlesWithin(all, TIMEOUT).catch(() => false) && !app.hindsight.isClosing
  }
  const config = { profile: false }
  app.get('/livez', { config: { ...config, healthCheck: async () => true }, logLevel: 'silent' }, async () => {})
  app.get('/readyz', { config: { ...config, healthCheck: isReady }, logLevel: 'silent' }, async () => {})
}
