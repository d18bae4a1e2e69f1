import type { FastifyInstance } from 'fastify'
import { internalHook, settlesWithin } from 'fastify-hindsight/recorder'
import type { ServiceOptions } from '../lib/options.js'

/** Milliseconds after which a check that has not settled counts as failed. */
const TIMEOUT = 2_000

/** Adds `/livez` and `/readyz`, which respond before the first listener: without login, profile and log line. */
export function openHealth (app: FastifyInstance, { health = false }: ServiceOptions): void {
  if (!health) return
  const { readinessChecks } = app.service
  const isReady = async (): Promise<boolean> => {
    const checks = Promise.all(readinessChecks.map(async (check) => { await check() }))
    return await settlesWithin(checks, TIMEOUT).catch(() => false) && !app.hindsight.isClosing
  }
  const checks = new Map([[`${app.prefix}/livez`, async () => true], [`${app.prefix}/readyz`, isReady]])
  app.addHook('preClose', async function markClosing () { app.hindsight.beginClosing() })
  app.addHook('onRequest', internalHook(function respondToCheck (request, reply, done) {
    const check = checks.get(request.routeOptions.url ?? '')
    if (check === undefined) return done()
    reply.hijack()
    check().then((isUp) => {
      const body = isUp ? 'ok\n' : 'unavailable\n'
      reply.raw.writeHead(isUp ? 200 : 503, {
        'content-type': 'text/plain; charset=utf-8',
        'content-length': body.length,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff'
      }).end(body)
    })
  }))
  const options = { config: { profile: false }, logLevel: 'silent' } as const
  for (const path of ['/livez', '/readyz']) app.get(path, options, async () => {})
}
