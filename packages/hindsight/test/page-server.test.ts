import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type RequestListener } from 'node:http'
import { connect } from 'node:http2'
import { text } from 'node:stream/consumers'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { service } from '../../../app/service.js'
import { hindsight } from '../src/hindsight.js'
import { preloadApplication } from '../src/observe.js'
import type { HindsightOptions } from '../src/options.js'
import { internalWorkIn } from '../src/recording/event-loop.js'
import { listen, newest, profileOf } from './support/app.js'

interface Observed {
  app: FastifyInstance
  /** The lines of the log, without those of the start. */
  lines: string[]
  /** The hooks of the application that ran, with the request. */
  ran: string[]
}

const OPTIONS: HindsightOptions = { debug: true, profiler: { storage: 'memory' } }

/** An application with hooks that are added before the plugin. */
async function application (
  t: Test, product: 'plugin' | 'preload' | 'service', server: object = {}, declare: (app: FastifyInstance) => void = () => {}
): Promise<Observed> {
  const lines: string[] = []
  const ran: string[] = []
  const stream = { write: (line: string) => { lines.push(JSON.parse(line).msg) } }
  const app = Fastify({ pluginTimeout: 60_000, logger: { stream }, ...server }) as unknown as FastifyInstance
  if (product === 'preload') preloadApplication(app, OPTIONS)
  app.addHook('onRequest', async ({ id }) => { ran.push(`onRequest ${id}`) })
  app.addHook('onResponse', async ({ id }) => { ran.push(`onResponse ${id}`) })
  if (product === 'plugin') await app.register(hindsight, OPTIONS)
  if (product === 'service') await app.register(service, OPTIONS)
  app.get('/', async (request) => request.id)
  declare(app)
  t.teardown(() => app.close())
  await app.ready()
  return { app, lines, ran }
}

async function read (
  port: number, path: string, headers: Record<string, string> = {}
): Promise<[status: number | undefined, body: string, response: IncomingMessage]> {
  const [response] = await once(get({ port, host: '127.0.0.1', path, headers, agent: false }), 'response') as [IncomingMessage]
  return [response.statusCode, await text(response), response]
}

async function readHttp2 (port: number, path: string): Promise<[status: number, body: string]> {
  const session = connect(`http://127.0.0.1:${port}`)
  try {
    const stream = session.request({ ':path': path })
    const [headers] = await once(stream, 'response') as [{ ':status': number }]
    return [headers[':status'], await text(stream)]
  } finally {
    session.close()
  }
}

const ONE_REQUEST = ['incoming request', 'request completed']

for (const by of ['plugin', 'preload'] as const) {
  t.test(`requests for pages leave no line, take no request id and run no hook: ${by}`, async (t) => {
    const { app, lines, ran } = await application(t, by)
    const port = await listen(app)
    lines.length = 0
    t.same((await read(port, '/')).slice(0, 2), [200, 'req-1'])
    const profile = await profileOf(app, (await read(port, '/'))[2])
    const asset = /\/_profiler\/assets\/[^"]+/.exec((await read(port, '/_profiler/'))[1])?.[0] ?? ''
    for (const [path, status] of [
      [`/_profiler/${profile.token}`, 200], [asset, 200], ['/_profiler?q=x', 301], ['/_profiler/ffffff', 404], [`/_wdt/${profile.token}`, 200],
      ['/_error/404', 404]
    ] as const) {
      t.equal((await read(port, path))[0], status, path)
    }
    const aborted = get({ port, host: '127.0.0.1', path: '/_profiler/' })
    aborted.once('error', () => {})
    await once(aborted, 'response')
    aborted.destroy()
    t.same((await read(port, '/')).slice(0, 2), [200, 'req-3'])
    while (ran.length < 6) await new Promise(setImmediate)
    t.same(lines, [...ONE_REQUEST, ...ONE_REQUEST, ...ONE_REQUEST])
    t.same(ran, ['req-1', 'req-2', 'req-3'].flatMap((id) => [`onRequest ${id}`, `onResponse ${id}`]))
  })
}

for (const by of ['plugin', 'preload'] as const) {
  t.test(`pages are quiet with own identifiers, and without a log of requests: ${by}`, async (t) => {
    for (const server of [{}, { disableRequestLogging: true }]) {
      let count = 0
      const { app, lines, ran } = await application(t, by, { ...server, genReqId: () => `own-${++count}` })
      const port = await listen(app)
      lines.length = 0
      const profile = await profileOf(app, (await read(port, '/'))[2])
      const before = lines.length
      const fixed = ['/', '/latest', '/ffffff', '/missing/a/b', '/search?q=%2Fa'].map((path) => `/_profiler${path}`)
      for (const path of [`/_profiler/${profile.token}`, ...fixed, `/_wdt/${profile.token}`]) {
        await read(port, path)
      }
      t.same([count, lines.length], [1, before], JSON.stringify(server))
      t.same(ran.filter((line) => line.startsWith('onRequest')), ['onRequest own-1'])
      t.equal((await read(port, '/'))[1], 'own-2')
      t.equal(lines.length, 2 * before)
    }
  })
}

t.test('in the service a page is a route: only a refusal leaves a line and a profile', async (t) => {
  const { app, lines, ran } = await application(t, 'service')
  const port = await listen(app)
  const { token } = await profileOf(app, (await read(port, '/'))[2])
  const asset = /\/_profiler\/assets\/[^"]+/.exec((await read(port, '/_profiler/'))[1])?.[0] ?? ''
  lines.length = 0
  ran.length = 0
  for (const path of ['/_profiler/', `/_profiler/${token}`, `/_wdt/${token}`, asset]) t.equal((await read(port, path))[0], 200, path)
  t.equal(ran.filter((line) => line.startsWith('onRequest')).length, 4, 'hooks of the application run')
  t.same(lines, [])
  const refused = await read(port, '/_profiler/ffffff')
  t.equal(refused[0], 404)
  t.match(lines, [/Token "ffffff" was not found/, 'request completed'])
  t.match(await profileOf(app, refused[2]), { status: 404, url: /\/_profiler\/ffffff$/ })
  const { profiles } = await app.hindsight.profiler.search({ limit: 20 })
  t.same(profiles.map(({ url }) => new URL(url).pathname), ['/_profiler/ffffff', '/'])
})

t.test('clients that may not see the pages are answered by the application, and logged', async (t) => {
  const { app, lines } = await application(t, 'plugin')
  const port = await listen(app)
  lines.length = 0
  for (const headers of [{ host: 'evil.example' }, { 'x-forwarded-for': '8.8.8.8' }, { origin: 'http://evil.example' }]) {
    t.same(
      (await read(port, '/_profiler/', headers)).slice(0, 2), [404, '{"message":"Route GET:/_profiler/ not found","error":"Not Found","statusCode":404}'],
      JSON.stringify(headers)
    )
  }
  t.equal(lines.filter((line) => line === 'incoming request').length, 3)
})

t.test('HTTP/2', async (t) => {
  const { app, lines } = await application(t, 'plugin', { http2: true })
  const port = await listen(app)
  lines.length = 0
  const [status, body] = await readHttp2(port, '/_profiler/')
  t.equal(status, 200)
  t.match(body, '<!DOCTYPE html>')
  t.same(lines, [])
  t.same(await readHttp2(port, '/'), [200, 'req-1'])
})

t.test('each server that calls Fastify, such as that of the second address of localhost; its other listeners keep their order', async (t) => {
  const { app, lines } = await application(t, 'plugin')
  const second = createServer()
  t.teardown(() => second.close())
  const called: string[] = []
  second.on('request', () => { called.push('before') })
  second.on('request', app.routing as RequestListener)
  second.once('request', () => { called.push('once') })
  second.on('request', () => { called.push('after') })
  await once(second.listen(0, '127.0.0.1'), 'listening')
  const { port } = second.address() as { port: number }
  t.equal((await read(port, '/_profiler/'))[0], 200)
  t.same(lines, [])
  t.same((await read(port, '/')).slice(0, 2), [200, 'req-1'])
  t.same(called, ['before', 'once', 'after', 'before', 'after'])
  t.equal(second.listenerCount('request'), 3)
})

t.test('a server that calls Fastify in another way has the pages, too', async (t) => {
  const serverFactory = (handler: RequestListener): unknown => createServer((request, response) => { handler(request, response) })
  const { app } = await application(t, 'plugin', { serverFactory })
  t.match(await read(await listen(app), '/_profiler/'), [200, /<!DOCTYPE html>/])
})

t.test('Fastify refuses requests for pages, too, while the application is closed', async (t) => {
  let port = 0
  let refused: unknown
  const { app } = await application(t, 'plugin', {}, (app) => {
    app.addHook('preClose', async () => {
      const [status, , { headers }] = await read(port, '/_profiler/')
      refused = [status, headers.connection]
    })
  })
  port = await listen(app)
  t.equal((await read(port, '/_profiler/'))[0], 200)
  await app.close()
  t.same(refused, [503, 'close'])
})

t.test('pages that could not be opened once are opened with the next request', async (t) => {
  const app = Fastify({ pluginTimeout: 60_000 })
  t.teardown(() => app.close())
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  await app.ready()
  let isFirst = true
  const failOnce = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance }
    if (isFirst) fastify.addHook('onReady', async () => { throw new Error('failed once') })
    isFirst = false
  }
  subscribe('fastify.initialization', failOnce)
  t.teardown(() => unsubscribe('fastify.initialization', failOnce))
  t.equal((await app.inject('/_profiler/')).statusCode, 503)
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
})

for (const by of ['plugin', 'preload'] as const) {
  t.test(`what the router refuses is answered as by Fastify, and has a profile: ${by}`, async (t) => {
    const declare = (app: FastifyInstance): void => {
      app.get('/things/:id', async () => 'x')
      app.get('/files/*', (_request, reply) => { reply.code(414).send('too long') })
    }
    const { app } = await application(t, by, {}, declare)
    const bare = Fastify()
    declare(bare)
    t.teardown(() => bare.close())
    const [port, other] = [await listen(app), await listen(bare)]
    const long = 'a'.repeat(101)
    for (const [path, status, code] of [
      ['/%ZZ?token=hunter22', 400, 'FST_ERR_BAD_URL'], ['/things/%FF', 400, 'FST_ERR_BAD_URL'], [`/things/${long}`, 414, 'FST_ERR_MAX_PARAM_LENGTH']
    ] as const) {
      const [sent, body, { headers: { date, ...headers } }] = await read(port, path, { cookie: 'session=hunter22' })
      const [, expected, { headers: { date: _date, ...wanted } }] = await read(other, path)
      t.same([sent, body, headers], [status, expected, wanted], path)
      t.ok(date)
      const profile = await newest(app)
      t.match(profile, {
        status, method: 'GET', ip: '127.0.0.1', route: null, exceptions: [{ name: 'FastifyError', frames: [], code, statusCode: status }]
      }, path)
      t.equal(profile.exceptions.length, 1)
      t.equal(profile.exceptions[0]?.message.replace('******', 'hunter22'), JSON.parse(body).message)
      t.equal(profile.url.replace('******', 'hunter22'), `http://127.0.0.1:${port}${path}`)
      const { rawMessage } = profile.collectors.request as { rawMessage: string }
      t.match(rawMessage, /^GET \S+ HTTP\/1\.1\r\ncookie: session=/i)
      t.notMatch(JSON.stringify(profile), 'hunter22')
    }
    for (const path of ['/things/%41', `/files/${long}`]) await read(port, path)
    const { profiles } = await app.hindsight.profiler.search({ limit: 20 })
    t.equal(profiles.length, 5, 'other requests have one profile')
  })
}

t.test('what the first page takes is work of Hindsight', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(hindsight, OPTIONS)
  app.get('/', async () => 'x')
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const start = performance.now()
  const response = await fetch(`${address}/_profiler/`, { headers: { accept: 'text/html' } })
  t.equal(response.status, 200)
  await response.text()
  t.ok(internalWorkIn({ start, end: performance.now() }).length > 0)
})
