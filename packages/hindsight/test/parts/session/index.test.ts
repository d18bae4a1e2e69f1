import cookie from '@fastify/cookie'
import fastifySession from '@fastify/session'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { hindsight } from '../../../src/hindsight.js'
import { session } from '../../../src/parts/session/index.js'
import { inMemory, listen, profileOf } from '../../support/app.js'
import { shown, texts } from '../support.js'

const SECRET = 'a secret of the test with at least 32 characters'

async function buildPackage (t: Test, declare: (app: FastifyInstance) => unknown): Promise<FastifyInstance> {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(hindsight, { debug: true, profiler: inMemory() })
  await declare(app)
  return app
}

function circular (session: object): object {
  const ring: Record<string, unknown> = {}
  ring.of = ring
  return { self: session, list: [session], ring }
}

async function profileOver (app: FastifyInstance, path: string) {
  if (!app.server.listening) await listen(app)
  const response = await fetch(`${app.listeningOrigin}${path}`)
  return await profileOf(app, { headers: Object.fromEntries(response.headers) } as never)
}

t.test('the session of @fastify/session is shown but for its secrets, and no getter of it runs', async (t) => {
  const read: unknown[] = []
  const getter = {
    enumerable: true,
    get () {
      // The plugin itself reads all values.
      const { stack } = new Error('the getter runs')
      if (stack?.includes('safe-stable-stringify') !== true) read.push(stack)
      return 'read'
    }
  }
  const app = await buildPackage(t, async (app) => {
    await app.register(cookie)
    await app.register(fastifySession, { secret: SECRET, cookie: { secure: false }, saveUninitialized: false })
    app.get('/none', async () => 'none')
    app.get('/set', async ({ session }) => {
      Object.assign(session, { locale: 'de', password: 'hunter2', cart: { items: [3], coupon: 'XMAS' }, seen: new Date(0), user: new Map() })
      Object.defineProperty(session, 'lazy', getter)
      Object.assign(session, { nested: Object.defineProperty({}, 'lazy', getter), ...circular(session) })
      return 'set'
    })
  })
  const stored = await profileOver(app, '/set')
  t.same((stored.collectors.session as { values: object }).values, {
    locale: 'de',
    password: '******',
    cart: { items: [3], coupon: 'XMAS' },
    seen: '1970-01-01T00:00:00.000Z',
    user: '[Map]',
    lazy: '[getter]',
    nested: { lazy: '[getter]' },
    self: '[circular]',
    list: ['[circular]'],
    ring: { of: '[circular]' }
  })
  t.same(read, [])
  t.match(texts(shown(session, stored), 'tr')[0], 'localede')
  t.equal((await profileOver(app, '/none')).collectors.session, undefined, 'an empty session has no panel')
})

t.test('a session that is a proxy is read by its documented method only', async (t) => {
  const asked: string[] = []
  // As that of @fastify/secure-session.
  const proxy = new Proxy({}, { get: (_, name) => { asked.push(String(name)); return () => ({ locale: 'de', token: 'secret' }) } })
  for (const [isSecure, expected, names] of [[true, { locale: 'de', token: '******' }, ['data']], [false, undefined, []]] as const) {
    asked.length = 0
    const app = await buildPackage(t, async (app) => {
      app.decorateRequest('session', null as never)
      if (isSecure) app.decorate('createSecureSession', () => proxy)
      app.addHook('onRequest', async (request) => { request.session = proxy as never })
      app.get('/', async () => 'ok')
    })
    const { collectors } = await profileOver(app, '/')
    t.same((collectors.session as { values?: object } | undefined)?.values, expected)
    t.same(asked, names)
  }
})
