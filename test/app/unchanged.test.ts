import { EventEmitter, once } from 'node:events'
import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable, Writable } from 'node:stream'
import cookie from '@fastify/cookie'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { service } from '../../app/service.js'
import type { ServiceOptions } from '../../lib/options.js'
import { listen, profileOf, raw } from '../../packages/hindsight/test/support/app.js'

type Declare = (app: FastifyInstance) => unknown

async function application (t: Test, declare: Declare,
  { server = {}, ...options }: ServiceOptions & { server?: FastifyServerOptions } = {}): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000, logger: { stream: { write () {} } }, ...server } as FastifyServerOptions) as unknown as FastifyInstance
  await app.register(service, { profiler: { storage: 'memory' }, ...options })
  await declare(app)
  t.teardown(() => app.close())
  return app
}

async function bare (t: Test, declare: Declare): Promise<FastifyInstance> {
  const app = Fastify()
  await declare(app)
  t.teardown(() => app.close())
  return app
}

const LONG = 'much longer than what the handler has sent'

// Payloads from hooks of the application, which run after the listeners.
const sent: Array<[name: string, onSend: (request: FastifyRequest, reply: FastifyReply) => unknown]> = [
  ['a stream in its place', () => Readable.from([LONG])],
  ['a longer text', () => LONG],
  ['octets', () => Buffer.from(LONG)],
  ['nothing', () => ''],
  ['nothing at all', () => null],
  ['not modified', (_request, reply) => { reply.code(304); return null }],
  ['trailers', (_request, reply) => { reply.trailer('x-sum', async () => 'abc'); return LONG }]
]
for (const [name, onSend] of sent) {
  for (const debug of [true, false]) {
    t.test(`a payload from a hook is sent completely: ${name}${debug ? '' : ', outside debug mode'}`, async (t) => {
      const declare: Declare = (app) => {
        app.addHook('onSend', async (request, reply) => onSend(request, reply))
        app.get('/', async () => ({ hello: 'world' }))
      }
      const seen = async (app: FastifyInstance): Promise<unknown> => {
        const response = await fetch(`http://127.0.0.1:${await listen(app)}/`, { signal: AbortSignal.timeout(30_000) })
        const { status, headers } = response
        return [status, await response.text(), ...['content-length', 'content-type', 'transfer-encoding', 'trailer'].map((header) => headers.get(header))]
      }
      t.same(await seen(await application(t, declare, { debug })), await seen(await bare(t, declare)))
    })
  }
}

t.test('the content type of a route and the payload of its hooks are unchanged', async (t) => {
  const payloads: unknown[] = []
  const declare: Declare = (app) => {
    app.addHook('onSend', async (_request, _reply, payload) => { payloads.push(payload); return payload })
    app.get('/css', (_request, reply) => reply.type('text/css').send('a{}'))
    app.get('/octets', (_request, reply) => reply.type('text/html').send(Buffer.from('Ü', 'latin1')))
    app.get('/none', (_request, reply) => reply.code(204).send())
  }
  for (const url of ['/css', '/octets', '/none']) {
    const [own, without] = [await (await application(t, declare)).inject(url), await (await bare(t, declare)).inject(url)]
    t.equal(own.headers['content-type'], without.headers['content-type'], url)
    t.same(payloads[0], payloads[1], url)
    payloads.length = 0
  }
  const asked = await application(t, declare, { charset: true })
  t.equal((await asked.inject('/css')).headers['content-type'], 'text/css; charset=utf-8', 'charset')
})

t.test('without the option session, plugins of the application for cookies and sessions work', async (t) => {
  const sessions = fp(async (app: FastifyInstance) => {
    app.decorateRequest('visits', 0)
    app.addHook('onRequest', async (request) => { Object.assign(request, { visits: Number(request.cookies.visits ?? 0) }) })
    app.addHook('onSend', async (request, reply) => { reply.setCookie('visits', String((request as unknown as { visits: number }).visits + 1)) })
  }, { name: '@fastify/secure-session' })
  for (const debug of [true, false]) {
    const app = await application(t, async (app) => {
      await app.register(cookie)
      await app.register(sessions)
      app.get('/', async (request, reply) => { reply.setCookie('other', '1'); return request.cookies })
    }, { debug })
    const response = await app.inject({ url: '/', cookies: { visits: '2' } })
    t.same(response.json(), { visits: '2' })
    t.same([response.headers['set-cookie']].flat().map((cookie) => cookie?.split(';')[0]), ['other=1', 'visits=3'])
  }
})

t.test('with the option session, a plugin that relies on cookies finds them registered', async (t) => {
  const signs = fp(async (app: FastifyInstance) => {
    if (!app.hasPlugin('@fastify/cookie')) await app.register(cookie, { secret: 'a secret of the plugin' })
  }, { name: 'signs' })
  const depends = fp(async () => {}, { name: 'depends', dependencies: ['@fastify/cookie'] })
  const app = await application(t, async (app) => {
    await app.register(depends)
    await app.register(signs)
    t.equal(app.hasPlugin('@fastify/cookie'), true)
    app.get('/', async (_request, reply) => { reply.setCookie('plain', 'x'); return 'x' })
  }, { session: { secret: 'a secret of the tests, thirty-two characters' } })
  t.match((await app.inject('/')).headers['set-cookie'], /^plain=x/)
})

t.test('a logger other than pino receives its lines, which the profile does not have', async (t) => {
  const written: string[] = []
  const write = (level: string) => (...args: unknown[]): void => { written.push(`${level} ${String(args.at(-1))}`) }
  const logger = {
    level: 'info',
    fatal: write('fatal'),
    error: write('error'),
    warn: write('warn'),
    info: write('info'),
    debug: write('debug'),
    trace: write('trace'),
    silent: write('silent'),
    child: () => logger
  }
  const app = await application(t, (app) => {
    app.get('/', async (request) => { request.log.warn({ a: 1 }, 'careful'); return 'x' })
  }, { server: { logger: undefined, loggerInstance: logger as unknown as FastifyBaseLogger } as unknown as FastifyServerOptions })
  const { logs } = await profileOf(app, await app.inject('/'))
  t.equal(written.filter((line) => line === 'warn careful').length, 1)
  t.notOk(logs.some(({ message }) => message === 'careful'))
})

t.test('loggers of requests that the application makes itself are theirs', async (t) => {
  const app = await application(t, (app) => {
    app.setChildLoggerFactory((logger, bindings, options) =>
      Object.assign(logger.child(bindings, options), { audit (this: FastifyBaseLogger, what: string) { this.info(`audited: ${what}`) } }))
    app.get('/', async (request) => { (request.log as unknown as { audit: (what: string) => void }).audit('it'); return 'x' })
  })
  const response = await app.inject('/')
  t.equal(response.statusCode, 200, response.body)
  t.ok((await profileOf(app, response)).logs.some(({ message }) => message === 'audited: it'))
})

// As @fastify/websocket makes the requests of `injectWS`.
t.test('a request object that a plugin constructs is handled', async (t) => {
  for (const debug of [true, false]) {
    const app = await application(t, (app) => { app.get('/', async () => ({ hello: 'world' })) }, { debug })
    await app.ready()
    const made = Object.assign(
      new EventEmitter(), { method: 'GET', url: '/', httpVersion: '1.1', headers: { connection: 'upgrade', upgrade: 'websocket' } }
    ) as unknown as IncomingMessage
    const response = new ServerResponse(made)
    const written: Buffer[] = []
    response.assignSocket(new Writable({ write (chunk: Buffer, _encoding, done) { written.push(chunk); done() } }) as Socket)
    const finished = once(response, 'finish')
    app.routing(made, response)
    await finished
    t.match(Buffer.concat(written).toString(), /^HTTP\/1\.1 200 OK\r\n[^]*\{"hello":"world"\}/)
  }
})

t.test('a request without a host is refused by the server, unless the application accepts it', async (t) => {
  const declare: Declare = (app) => { app.get('/', async (request) => ({ host: request.host })) }
  for (const [requireHostHeader, status] of [[true, 400], [false, 200]] as const) {
    const server = { http: { requireHostHeader } } as FastifyServerOptions
    const answer = await raw(await listen(await application(t, declare, { server })), 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n')
    t.equal(answer?.status, status, String(requireHostHeader))
  }
  const trusting = await application(t, declare, { server: { http: { requireHostHeader: false } } as FastifyServerOptions, trustedHosts: ['shop.example'] })
  t.equal((await raw(await listen(trusting), 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'))?.status, 400, 'the host is not trusted')
})

t.test('the config of a route is unchanged', async (t) => {
  const seen: unknown[] = []
  const declare: Declare = (app) => {
    app.get('/', { config: { foo: 'bar' } as object, onSend: async (request) => { seen.push(request.routeOptions.config) } }, async () => 'x')
  }
  for (const app of [await application(t, declare), await bare(t, declare)]) await app.inject('/')
  t.same(Reflect.ownKeys(seen[0] as object), Reflect.ownKeys(seen[1] as object))
  t.strictSame(seen[0], seen[1])
})

t.test('routes with different constraints are distinguished in any order of declaration', async (t) => {
  const app = await application(t, (app) => {
    for (const url of ['/plain-first', '/plain-last']) {
      const declare = [
        () => app.get(url, { config: { name: 'plain' } }, async () => 'plain'),
        () => app.get(url, { constraints: { host: 'shop.example' }, config: { name: 'shop' } }, async () => 'shop')
      ]
      for (const each of url === '/plain-first' ? declare : declare.reverse()) each()
    }
  }, { debugHosts: ['shop.example'] })
  for (const url of ['/plain-first', '/plain-last']) {
    for (const [host, name] of [['localhost', 'plain'], ['shop.example', 'shop']] as const) {
      const response = await app.inject({ url, headers: { host } })
      t.equal(response.body, name, url)
      t.equal((await profileOf(app, response)).route?.name, name, `${host}${url}`)
    }
  }
})
