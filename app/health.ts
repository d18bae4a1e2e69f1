import type { FastifyInstance, FastifyReply } from 'fastify'
import { ownHook } from '../lib/lifecycle/listener.js'
import type { HindsightOptions } from '../lib/options.js'
import { settlesWithin } from '../lib/profiler/write-queue.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The check that a route answers, before the lifecycle. */
    health?: 'live' | 'ready'
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
    const { health: check } = request.routeOptions.config
    if (check === undefined) return done()
    reply.hijack()
    if (check === 'live') answer(reply, true)
    else areAvailable(app.hindsight.needs).then((areUp) => answer(reply, areUp && !app.hindsight.isClosing))
  }))
  for (const [url, check] of [['/livez', 'live'], ['/readyz', 'ready']] as const) {
    app.get(url, { config: { health: check, profile: false }, logLevel: 'silent' }, async () => {})
  }
}

async function areAvailable (needs: ReadonlyArray<() => unknown>): Promise<boolean> {
  const all = Promise.all(needs.map(async (need) => { await need() }))
  return await settlesWithin(all, TIMEOUT).catch(() => false)
}

function answer ({ raw, request }: FastifyReply, isUp: boolean): void {
  const body = isUp ? 'ok\n' : 'unavailable\n'
  raw.writeHead(isUp ? 200 : 503, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff'
  })
  raw.end(request.method === 'HEAD' ? undefined : body)
}
