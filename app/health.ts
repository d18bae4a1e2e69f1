import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ownHook } from '../lib/lifecycle/listener.js'

export interface HealthOptions {
  /**
   * Routes that tell whether the process answers, and whether it can work; false for none. `needs` are asked for readiness
   * beside the store of sessions: what throws or rejects is away.
   */
  health?: boolean | { live?: string, ready?: string, needs?: Array<() => unknown> }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a route of health tells; answered ahead of the lifecycle. */
    health?: 'live' | 'ready'
  }
}

/** Milliseconds after which what does not answer is away. */
const PATIENCE = 2_000
/** Milliseconds for which an answer holds, so that whoever asks costs little. */
const FRESH = 1_000

/**
 * Makes the routes of health. They stand ahead of the first listener: they need no host, no login and no session, leave no
 * profile and no log line, and say nothing but their status.
 */
export function openHealth (app: FastifyInstance, { health = false }: HealthOptions): void {
  app.addHook('preClose', async function notReadyAnyMore () { app.hindsight.isClosing = true })
  if (health === false) return
  const { live = '/livez', ready = '/readyz', needs = [] } = health === true ? {} : health
  for (const [name, path] of Object.entries({ live, ready })) {
    if (!/^\/[^\s?#]*$/.test(path)) throw new Error(`health.${name} (HEALTH): "${path}" is no path, which begins with a slash`)
  }
  if (live === ready) throw new Error(`health (HEALTH): live and ready are both "${live}"`)
  const isReady = readiness(app, needs)
  app.addHook('onRequest', ownHook(function answerHealth (request, reply, done) {
    const asked = request.routeOptions.config?.health
    if (asked === undefined) return done()
    reply.hijack()
    if (asked === 'live') return answer(reply, true)
    isReady().then((is) => answer(reply, is), () => answer(reply, false))
  }))
  for (const [path, tells] of [[live, 'live'], [ready, 'ready']] as const) {
    app.get(path, { config: { health: tells, profile: false }, logLevel: 'silent' }, async () => {})
  }
}

function readiness (app: FastifyInstance, needs: ReadonlyArray<() => unknown>): () => Promise<boolean> {
  let asking: Promise<boolean> | null = null
  let until = 0
  return async () => {
    if (app.hindsight.isClosing) return false
    if (asking === null || performance.now() > until) {
      until = Infinity
      asking = areThere([...app.hindsight.needs, ...needs]).finally(() => { until = performance.now() + FRESH })
    }
    return await asking && !app.hindsight.isClosing
  }
}

async function areThere (needs: ReadonlyArray<() => unknown>): Promise<boolean> {
  const over = new AbortController()
  const all = Promise.all(needs.map(async (need) => { await need() })).then(() => true, () => false)
  const late = sleep(PATIENCE, false, { signal: over.signal }).catch(() => false)
  try {
    return await Promise.race([all, late])
  } finally {
    over.abort()
  }
}

function answer ({ raw, request }: FastifyReply, is: boolean): void {
  const body = is ? 'ok\n' : 'unavailable\n'
  raw.writeHead(is ? 200 : 503, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff'
  })
  raw.end(request.method === 'HEAD' ? undefined : body)
}
