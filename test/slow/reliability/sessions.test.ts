import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import connectPgSimple from 'connect-pg-simple'
import pg from 'pg'
import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import type { SessionSettings } from '../../../lib/options.js'
import { build } from '../../../packages/hindsight/test/support/app.js'
import { postgresServer, type PostgresServer } from '../../../packages/hindsight/test/support/postgres.js'

type Store = NonNullable<SessionSettings['store']>

const SECRET = 'a secret of the tests, thirty-two characters and more'

/** Sessions in PostgreSQL, as an application would keep them. */
function postgresStore (t: Test, { url }: PostgresServer): Store {
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 1_000 })
  // Connections that wait in the pool when the server ends.
  pool.on('error', () => {})
  t.teardown(async () => await pool.end())
  // It takes the base class of its store from what it is given.
  const PostgresStore = connectPgSimple({ Store: EventEmitter } as never)
  const store = new PostgresStore({ pool, createTableIfMissing: true, pruneSessionInterval: false, errorLog: () => {} })
  return store as unknown as Store
}

function routes (app: FastifyInstance): void {
  app.get('/plain', async () => 'plain')
  app.get('/login', async (request) => { await request.session.regenerate(); request.session.user = 'ada'; return 'hello' })
  app.get('/logout', async (request) => { await request.session.destroy(); return 'bye' })
  app.get('/who', async (request) => ({ user: request.session.user ?? null }))
  app.get('/note', async (request) => { request.session.count = 1; return 'noted' })
}

async function application (
  t: Test, session: Partial<SessionSettings>
): Promise<(url: string, cookie?: string) => Promise<{ status: number, body: string, cookie: string }>> {
  const app = await build(t, { session: { secret: SECRET, ...session }, health: true }, routes)
  return async (url, cookie) => {
    const { statusCode, body, headers } = await app.inject({ url, headers: { accept: 'text/plain', ...(cookie !== undefined && { cookie }) } })
    return { status: statusCode, body, cookie: [headers['set-cookie'] ?? []].flat().map((one) => String(one).split(';')[0]).join() }
  }
}

type Fault = [name: string, begin: (postgres: PostgresServer) => unknown, end: (postgres: PostgresServer) => unknown]

const faults: Fault[] = [
  ['is killed and started again', async (postgres) => await postgres.stop(), async (postgres) => await postgres.start()],
  ['hangs', (postgres) => postgres.pause(), (postgres) => postgres.resume()]
]

for (const [name, begin, end] of faults) {
  t.test(`a PostgreSQL that ${name}: requests with sessions are refused`, async (t) => {
    const postgres = await postgresServer(t)
    if (!postgres) return
    const store = postgresStore(t, postgres)
    const closed = await application(t, { store })
    const { cookie } = await closed('/login')
    t.same((await closed('/who', cookie)).body, '{"user":"ada"}')
    t.equal((await closed('/readyz')).status, 200)

    await begin(postgres)
    for (const url of ['/who', '/note', '/login', '/logout']) t.match(await closed(url, cookie), { status: 503, cookie: '' }, `closed: ${url}`)
    t.match(await closed('/note'), { status: 503, cookie: '' }, 'closed: a new session cannot be kept')
    t.match((await closed('/who', cookie)).body, /The session store failed: /)
    t.match(await closed('/plain', cookie), { status: 200, body: 'plain' }, 'closed: a request without a session is answered')
    await sleep(1_050)
    t.equal((await closed('/readyz')).status, 503, 'the service is not ready')

    await end(postgres)
    while ((await closed('/who', cookie)).status === 503) await sleep(50)
    t.same((await closed('/who', cookie)).body, '{"user":"ada"}', 'the session is available again')
    while ((await closed('/readyz')).status === 503) await sleep(100)
  })
}

const badStores: Array<[name: string, store: Store]> = [
  ['throws', { get: () => { throw new Error('no') }, set: () => { throw new Error('no') }, destroy: () => { throw new Error('no') } }],
  ['rejects', {
    get: async () => { throw new Error('no') }, set: async () => { throw new Error('no') }, destroy: async () => { throw new Error('no') }
  } as unknown as Store],
  ['never answers', { get: () => {}, set: () => {}, destroy: () => {} }],
  ['answers twice', {
    get: (_id, done) => { done(new Error('no')); done(null, null) },
    set: (_id, _session, done) => { done(new Error('no')); done() },
    destroy: (_id, done) => { done(new Error('no')); done() }
  }]
]

for (const [name, store] of badStores) {
  t.test(`a store that ${name}: requests with sessions are refused`, async (t) => {
    const ask = await application(t, { store })
    const good = await application(t, {})
    const { cookie } = await good('/login')
    for (const [url, status] of [['/who', 503], ['/note', 503], ['/plain', 200], ['/readyz', 503]] as const) {
      t.equal((await ask(url, cookie)).status, status, url)
    }
    t.equal((await ask('/note')).status, 503)
  })
}

t.test('an invalid stored session is not used', async (t) => {
  const later = (answer: () => void): void => { setTimeout(answer, 1) }
  const kept: Array<[name: string, value: unknown, status: number]> = [
    ['text', 'garbage', 200],
    ['a number', 7, 200],
    ['a list', [], 200],
    ['no cookie', { user: 'ada' }, 200],
    ['a prototype', JSON.parse('{"__proto__":{"user":"ada"},"cookie":{}}'), 503],
    ['what cannot be read', { get cookie () { throw new Error('no') } }, 503]
  ]
  const { cookie } = await (await application(t, {}))('/login')
  for (const [name, value, status] of kept) {
    const store = {
      get: (_id: string, done: (error: null, session: never) => void) => later(() => done(null, value as never)),
      set: (_id: string, _session: unknown, done: () => void) => later(done),
      destroy: (_id: string, done: () => void) => later(done)
    } as Store
    const ask = await application(t, { store })
    t.equal((await ask('/who', cookie)).status, status, name)
    t.equal((await ask('/plain', cookie)).status, 200, name)
  }
})
