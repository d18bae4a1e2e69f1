import { once } from 'node:events'
import http from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { build, listen, newest, profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'
import type { FastifyInstance } from 'fastify'
import type { HindsightOptions } from '../../src/options.js'
import type { Profile } from '../../src/store/profile.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const traceparent = `00-${TRACE}-${PARENT}-01`

const received: http.IncomingHttpHeaders[] = []
const server = http.createServer((request, response) => {
  received.push(request.headers)
  response.end('x')
})
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => server.close())
const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

inBothProducts('an incoming trace is recorded, and outgoing requests are unchanged', async (t, build) => {
  const app = await build(app => app.get('/', async () => { await (await fetch(upstream)).text(); return 'x' }))
  received.length = 0
  const answer = await app.inject({ url: '/', headers: { traceparent, tracestate: 'a=1' } })
  t.same([answer.statusCode, answer.headers.traceparent, answer.headers.traceresponse], [200, undefined, undefined])
  t.same((await profileOf(app, answer)).collectors.trace, { traceId: TRACE, parentId: PARENT, sampled: true })
  t.same([received[0]?.traceparent, received[0]?.tracestate], [undefined, undefined])
})

inBothProducts('no trace is started, and an invalid one is ignored', async (t, build) => {
  const app = await build(app => app.get('/', async () => { await (await fetch(upstream)).text(); return 'x' }))
  for (const headers of [{}, { traceparent: `00-${TRACE}-${PARENT}` }]) {
    received.length = 0
    const { collectors } = await profileOf(app, await app.inject({ url: '/', headers }))
    t.notOk('trace' in collectors)
    t.equal(received[0]?.traceparent, undefined)
  }
})

inBothProducts('an injected request is a child of the request that injected it', async (t, build) => {
  let answered = (): void => {}
  const isAnswered = new Promise<void>((resolve) => { answered = resolve })
  const app = await build(app => {
    app.get('/child', async () => { await sleep(2); return 'child' })
    app.get('/grand', async () => (await app.inject('/child')).headers['x-debug-token'])
    app.get('/parent', async request => {
      await sleep(1)
      const { headers, body } = await request.server.inject('/grand')
      return [headers['x-debug-token'], body]
    })
    app.get('/fail', async () => { await app.inject('/child'); throw new Error('no') })
    app.get('/quiet', { config: { profile: false } }, async () => (await app.inject('/child')).headers['x-debug-token'])
    app.get('/late', async () => { isAnswered.then(() => app.inject('/child?late')).catch(() => {}); return 'x' })
  })
  const answers = await Promise.all([app.inject('/parent'), app.inject('/parent'), app.inject('/fail')])
  for (const answer of answers.slice(0, 2)) {
    const [child, grandchild] = answer.json<[string, string]>()
    const parent = await profileOf(app, answer)
    t.notOk('parent' in parent)
    t.equal((await app.hindsight.profiler.find(child))?.parent, parent.token)
    t.equal((await app.hindsight.profiler.find(grandchild))?.parent, child)
  }
  const failed = await profileOf(app, answers[2] as never)
  t.equal(failed.exceptions.length, 1)
  t.same((await app.hindsight.profiler.search({ criteria: { parent: failed.token }, limit: 10 })).profiles.map(({ url }) => url), ['http://localhost/child'])
  t.notOk('parent' in (await app.hindsight.profiler.find((await app.inject('/quiet')).body) ?? { parent: 'not found' }), 'of one that leaves no profile')
  await app.inject('/late')
  answered()
  let late = await newest(app)
  for (; !late.url.endsWith('/child?late'); late = await newest(app)) await sleep(10)
  t.notOk('parent' in late, 'the one that started it was over')
})

async function buildForFailures (t: Test, profiler: NonNullable<HindsightOptions['profiler']>, failed = (): void => {}): Promise<FastifyInstance> {
  const app = await build({
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
      app.get('/slow', { onSend: async (_request, reply) => { await once(reply.raw, 'close') } }, () => {
        failed()
        throw new Error('slow')
      })
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
  const app = await buildForFailures(t, 'errors')
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
  let failed = (): void => {}
  const hasFailed = new Promise<void>((resolve) => { failed = resolve })
  const app = await buildForFailures(t, 'errors', () => failed())
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await hasFailed
  await sleep(20)
  socket.destroy()
  let profiles: Profile[] = []
  while (profiles.length === 0) {
    await sleep(10)
    profiles = await stored(app)
  }
  t.equal(profiles.length, 1)
  t.equal(profiles[0]?.exceptions.at(-1)?.message, 'slow')
})
