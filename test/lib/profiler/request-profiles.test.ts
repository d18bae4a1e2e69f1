import { once } from 'node:events'
import { rmSync } from 'node:fs'
import http from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { build, listen, newest, profileOf } from '../../support/app.js'
import type { FastifyInstance } from 'fastify'
import type { HindsightOptions } from '../../../lib/options.js'
import type { Profile } from '../../../lib/profiler/profile.js'

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

t.test('an incoming trace is recorded, and outgoing requests are unchanged', async t => {
  const app = await build(t, {}, app => app.get('/', async () => { await (await fetch(upstream)).text(); return 'x' }))
  received.length = 0
  const answer = await app.inject({ url: '/', headers: { traceparent, tracestate: 'a=1' } })
  t.same([answer.statusCode, answer.headers.traceparent, answer.headers.traceresponse], [200, undefined, undefined])
  t.same((await profileOf(app, answer)).collectors.trace, { traceId: TRACE, parentId: PARENT, sampled: true })
  t.same([received[0]?.traceparent, received[0]?.tracestate], [undefined, undefined])
})

t.test('no trace is started, and an invalid one is ignored', async t => {
  const app = await build(t, {}, app => app.get('/', async () => { await (await fetch(upstream)).text(); return 'x' }))
  for (const headers of [{}, { traceparent: `00-${TRACE}-${PARENT}` }]) {
    received.length = 0
    const { collectors } = await profileOf(app, await app.inject({ url: '/', headers }))
    t.notOk('trace' in collectors)
    t.equal(received[0]?.traceparent, undefined)
  }
})

t.test('an injected request is a child of the request that injected it', async t => {
  const app = await build(t, {}, app => {
    app.get('/child', async () => { await sleep(2); return 'child' })
    app.get('/grand', async () => (await app.inject('/child')).headers['x-debug-token'])
    app.get('/parent', async request => {
      await sleep(1)
      const { headers, body } = await request.server.inject('/grand')
      return [headers['x-debug-token'], body]
    })
    app.get('/fail', async () => { await app.inject('/child'); throw new Error('no') })
    app.get('/quiet', { config: { profile: false } }, async () => (await app.inject('/child')).headers['x-debug-token'])
    app.get('/late', async () => { setTimeout(() => { app.inject('/child?late').catch(() => {}) }, 20); return 'x' })
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
  await sleep(80)
  const late = await newest(app)
  t.match(late.url, /late$/)
  t.notOk('parent' in late, 'the one that started it was over')
})

t.test('a followed redirect is the parent of the next request, without a marker in the URL', async t => {
  const app = await build(t, {}, app => {
    app.get('/from', (_request, reply) => reply.redirect('/to?a=1#there'))
    app.get('/to', () => 'x')
  })
  const headers = { 'user-agent': 'a browser' }
  const redirect = await app.inject({ url: '/from', headers })
  t.equal(redirect.headers.location, '/to?a=1#there')
  t.notOk('set-cookie' in redirect.headers)
  const { token } = await profileOf(app, redirect)
  const other = await profileOf(app, await app.inject({ url: '/to?a=1', headers: { 'user-agent': 'another' } }))
  const followed = await profileOf(app, await app.inject({ url: '/to?a=1', headers }))
  const again = await profileOf(app, await app.inject({ url: '/to?a=1', headers }))
  t.same([other.parent, followed.parent, again.parent], [undefined, token, undefined])
  const pageOf = async (token: string) => (await app.inject({ url: `/_profiler/${token}`, headers: { accept: 'text/html' } })).body
  t.match(await pageOf(followed.token), `<h3>Parent request</h3><ul class="relatives"><li><a href="/_profiler/${token}">${token}</a>`)
  app.hindsight.profiler.save({ ...followed, token: '00000a', parent: '"><script>' })
  t.notMatch(await pageOf('00000a'), /"><script>/)
})

t.test('a redirect is followed once, by the same client, to the same URL, within 30 seconds', async t => {
  const app = await build(t, {}, app => {
    app.get('/a/from', (request, reply) => reply.redirect((request.query as { to: string }).to))
    app.get('/*', () => 'x')
  })
  const now = Date.now
  t.teardown(() => { Date.now = now })
  const headers = { 'user-agent': 'a browser' }
  const long = `/${'x'.repeat(3_000)}`
  for (const [name, to, url, changes, later, isFollowed] of [
    ['a path', '/to', '/to', {}, 0, true],
    ['relative', 'to?a=b', '/a/to?a=b', {}, 0, true],
    ['absolute, with a fragment', 'http://localhost/to#there', '/to', {}, 29_000, true],
    ['too late', '/to', '/to', {}, 30_000, false],
    ['another place', '/to', '/other', {}, 0, false],
    ['another query', '/to', '/to?a=1', {}, 0, false],
    ['another client', '/to', '/to', { remoteAddress: '127.0.0.2' }, 0, false],
    ['another browser', '/to', '/to', { headers: { 'user-agent': 'b' } }, 0, false],
    ['a very long URL', long, long, {}, 0, false]
  ] as const) {
    const redirect = await profileOf(app, await app.inject({ url: `/a/from?${new URLSearchParams({ to })}`, headers }))
    Date.now = () => now() + later
    const follower = { url, headers, ...changes }
    const followed = await profileOf(app, await app.inject(follower))
    const again = await profileOf(app, await app.inject(follower))
    Date.now = now
    t.same([followed.parent, again.parent], [isFollowed ? redirect.token : undefined, undefined], name)
    await app.inject({ url: to, headers })
  }
})

t.test('a redirect over a Unix socket is followed by no request', async t => {
  const app = await build(t, {}, app => {
    app.get('/from', (_request, reply) => reply.redirect('/to'))
    app.get('/to', () => 'x')
  })
  const socketPath = join(tmpdir(), `hindsight-redirects-${process.pid}.sock`)
  t.teardown(() => rmSync(socketPath, { force: true }))
  await app.listen({ path: socketPath })
  for (const path of ['/from', '/to']) {
    const [response] = await once(http.get({ socketPath, path, agent: false }), 'response') as [http.IncomingMessage]
    await once(response.resume(), 'end')
  }
  const { profiles: [newest] } = await app.hindsight.profiler.search({ limit: 1 })
  t.match(newest, { url: /\/to$/, parent: null })
})

t.test('the number of redirects that are kept is bounded', async t => {
  const app = await build(t, {}, app => {
    app.get('/from/:to', (request, reply) => reply.redirect(`/to/${(request.params as { to: string }).to}`))
    app.get('/to/*', () => 'x')
  })
  for (let i = 0; i < 1_001; i++) await app.inject(`/from/${i}`)
  t.equal((await profileOf(app, await app.inject('/to/0'))).parent, undefined)
  t.not((await profileOf(app, await app.inject('/to/1'))).parent, undefined)
})

async function buildForFailures (t: Test, profiler: NonNullable<HindsightOptions['profiler']>): Promise<FastifyInstance> {
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
  const app = await buildForFailures(t, 'errors')
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await sleep(50)
  socket.destroy()
  let profiles: Profile[] = []
  while (profiles.length === 0) {
    await sleep(10)
    profiles = await stored(app)
  }
  t.equal(profiles.length, 1)
  t.equal(profiles[0]?.exceptions.at(-1)?.message, 'slow')
})
