import { join } from 'node:path'
import { Readable } from 'node:stream'
import { statSync } from 'node:fs'
import Fastify, { type FastifyInstance } from 'fastify'
import application, { options } from '../../../app/app.js'

/** The figures of the process under test. */
export interface SoakFigures {
  /** Bytes in use after a garbage collection. */
  heap: number
  external: number
  resident: number
  /** Bytes of the store's file. */
  file: number
  stored: number
  written: number
  dropped: number
  failed: number
}

// The process that is soaked: a service in debug mode whose SQLite file is at its bound and written to without a pause.
const [, , folder = '', maxProfiles = '2000'] = process.argv
const app = Fastify({ ...options, logger: { level: 'info', file: '/dev/null' }, pluginTimeout: 60_000 }) as unknown as FastifyInstance
await app.register(application, {
  service: {
    debug: true,
    session: { secret: 'a secret of the soak, 32 letters or more' },
    cors: [{ origin: ['https://app.example'] }],
    profiler: { storage: 'sqlite', dataDir: folder, maxProfiles: Number(maxProfiles) }
  },
  routesDir: join(import.meta.dirname, '../../fixtures/no-routes')
})
app.get('/hello', async () => ({ hello: 'world' }))
app.get('/item/:id', async (request) => request.params)
app.get('/lines/:n', async (request) => {
  const { n } = request.params as { n: string }
  for (let i = 0; i < Number(n); i++) request.log.info({ item: i }, `A line about ${i}`)
  return { n }
})
app.get(
  '/page', async (_request, reply) => reply.type('text/html').send('<!DOCTYPE html><html><head><title>x</title></head><body><h1>A page</h1></body></html>')
)
app.get('/stream', async (_request, reply) => reply.type('text/plain').send(Readable.from(Array.from({ length: 20 }, (_, i) => `part ${i}\n`))))
app.get('/fail/:depth', async (request) => fail(Number((request.params as { depth: string }).depth)))
app.get('/session', async (request) => {
  const session = request.session as unknown as { count?: number }
  session.count = (session.count ?? 0) + 1
  return { count: session.count }
})
app.get('/slow', async () => await new Promise((resolve) => { setTimeout(resolve, 50, { slow: true }) }))
app.post('/echo', async (request) => ({ body: request.body }))

function fail (depth: number): never {
  if (depth > 0) return fail(depth - 1)
  try {
    throw new TypeError('The inner reason')
  } catch (cause) {
    throw new Error('The outer failure', { cause })
  }
}

async function figures (): Promise<SoakFigures> {
  const { profiler } = app.hindsight
  await profiler.flush()
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  const { profiles } = await profiler.stats()
  return { heap: heapUsed, external, resident: rss, file: statSync(join(folder, 'profiles.db')).size, stored: profiles, ...profiler.queue.counters }
}

process.on('message', (token: string) => {
  // Without a token: all figures; with one: whether its profile is there.
  const answer = token === '' ? figures() : app.hindsight.profiler.find(token).then((profile) => ({ found: profile !== undefined }))
  answer.then((figures) => process.send?.(figures), (error: unknown) => { throw error })
})
process.on('disconnect', () => process.exit())
await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.({ port: (app.server.address() as { port: number }).port })
