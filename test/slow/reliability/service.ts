import { join } from 'node:path'
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance } from 'fastify'
import application from '../../../app/app.js'
import { serverOptions } from '../../../lib/server-options.js'
import type { ServerSettings, ServiceOptions } from '../../../lib/options.js'

/** The options of a service of the tests, in the variable `SERVICE`. */
export interface ServiceSettings {
  limits?: Partial<ServerSettings>
  service?: ServiceOptions
}

// A service in a separate process: sends its port, and its memory on request.
const { limits = {}, service = {} } = JSON.parse(process.env.SERVICE ?? '{}') as ServiceSettings
// The signal that comes at the limit of a file's size would end the process; a full disk sends none.
process.on('SIGXFSZ', () => {})
const app = Fastify({ ...serverOptions(limits), logger: { level: 'silent' }, pluginTimeout: 60_000 }) as unknown as FastifyInstance
await app.register(application, {
  limits,
  service: {
    debug: true, session: { secret: 'a secret of the tests, thirty-two characters and more' }, profiler: { storage: 'memory', maxProfiles: 200 }, ...service
  },
  routesDir: join(import.meta.dirname, '../../fixtures/no-routes')
})
app.get('/hello', async () => ({ hello: 'world' }))
app.post('/echo', async (request) => ({ body: request.body ?? null }))
app.get('/large', async () => Buffer.alloc(16 * 1024 * 1024, 'x'))
app.get('/stream', async (_request, reply) => {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  return reply.type('text/plain').send(Readable.from((function * () { for (;;) yield chunk })()))
})
app.get('/slow', (_request, reply) => { setTimeout(() => reply.send('slow'), 1_000) })
process.on('message', (question) => {
  if (question !== 'figures') return
  global.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  app.server.getConnections((_error, connections) =>
    process.send?.({ rss, memory: heapUsed + external, connections, counters: (app.hindsight.hasProfiles) ? app.hindsight.profiler.queue.counters : null }))
})
process.on('disconnect', () => process.exit())
await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.({ port: (app.server.address() as { port: number }).port })
