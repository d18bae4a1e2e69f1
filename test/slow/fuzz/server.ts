import Fastify, { type FastifyInstance } from 'fastify'
import application, { options } from '../../../app/app.js'
import { join } from 'node:path'

// The process that is fuzzed: sends its port, its memory on request, and unexpected errors.
const app = Fastify({ ...options, logger: false, pluginTimeout: 60_000, connectionTimeout: 4_000, requestTimeout: 4_000 }) as unknown as FastifyInstance
await app.register(application, {
  service: {
    debug: process.env.NODE_ENV !== 'production',
    session: { secret: 'a secret of the fuzzer, 32 letters or more' },
    profiler: { storage: 'memory', maxProfiles: 200 }
  },
  routesDir: join(import.meta.dirname, '../../fixtures/no-routes')
})
let smuggled = 0
app.get('/hello', async () => ({ hello: 'world' }))
app.all('/echo', async (request) => ({ body: request.body ?? null }))
app.get('/fail', async () => { throw new Error('on purpose') })
app.get('/item/:id', async (request) => request.params)
app.all('/smuggled', async () => { smuggled++; return 'smuggled' })
process.on('uncaughtException', (error) => process.send?.({ crash: String(error.stack) }))
process.on('unhandledRejection', (error) => process.send?.({ crash: String((error as Error).stack) }))
process.on('message', (question) => {
  if (question !== 'figures') return
  global.gc?.()
  app.server.getConnections((_error, connections) => process.send?.({ heap: process.memoryUsage().heapUsed, connections, smuggled }))
})
await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.({ port: (app.server.address() as { port: number }).port })
