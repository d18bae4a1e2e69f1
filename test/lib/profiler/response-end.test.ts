import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import type { HindsightOptions } from '../../../lib/options.js'
import type { Profile } from '../../../lib/profiler/profile.js'
import { build as buildApplication, listen } from '../../support/app.js'

async function build (t: Test, profiler: NonNullable<HindsightOptions['profiler']>): Promise<FastifyInstance> {
  const app = await buildApplication({
    debug: false,
    profiler,
    // Fastify waits for the end of a response that it logs.
    server: { logger: false },
    declare (app) {
      app.get('/fine', async () => 'fine')
      app.get('/boom', () => { throw new Error('boom') })
      app.get('/hijacked/:status', (request, reply) => {
        reply.hijack()
        reply.raw.writeHead(Number((request.params as { status: string }).status)).end('raw')
      })
      app.get('/slow', { onSend: async (_request, reply) => { await once(reply.raw, 'close') } }, () => { throw new Error('slow') })
    }
  })
  t.teardown(() => app.close())
  return app
}

async function stored (app: FastifyInstance): Promise<Profile[]> {
  const { profiles } = await app.hindsight.profiler.search({ limit: 100 })
  return await Promise.all(profiles.map(async ({ token }) => await app.hindsight.profiler.find(token) as Profile))
}

t.test('a failure is stored at the end of its response, once', async t => {
  const app = await build(t, 'errors')
  const port = await listen(app)
  for (const [path, status, wanted] of [
    ['/fine', 200, []], ['/boom', 500, [['/boom', 500]]], ['/hijacked/200', 200, []], ['/hijacked/503', 503, [['/hijacked/503', 503]]], ['/nowhere', 404, []]
  ] as const) {
    const before = (await stored(app)).length
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    await response.text()
    t.equal(response.status, status)
    const profiles = await stored(app)
    t.same(profiles.slice(0, profiles.length - before).map(({ url, status }) => [new URL(url).pathname, status]), wanted, path)
  }
})

t.test('a failure is stored if the client disconnects during its response', async t => {
  const app = await build(t, 'errors')
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await setTimeout(50)
  socket.destroy()
  let profiles: Profile[] = []
  while (profiles.length === 0) {
    await setTimeout(10)
    profiles = await stored(app)
  }
  t.equal(profiles.length, 1)
  t.equal(profiles[0]?.exceptions.at(-1)?.message, 'slow')
})
