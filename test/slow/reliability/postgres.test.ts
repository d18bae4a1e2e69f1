import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { openStorage } from '../../../packages/hindsight/src/store/open.js'
import { build } from '../../../packages/hindsight/test/support/app.js'
import { failure, profile } from '../../../packages/hindsight/test/parts/fixture.js'
import { inBothProducts, type TestedProduct } from '../../../packages/hindsight/test/support/products.js'
import { put } from '../../../packages/hindsight/test/store/support.js'
import { postgresServer } from '../../../packages/hindsight/test/support/postgres.js'
import { until } from './start.js'

const SECRET = 'a secret of the tests, thirty-two characters and more'

/** What the pages show of a store that is unavailable, and that requests are answered. */
async function isUnavailable (t: Test, app: FastifyInstance, product: TestedProduct, reason: RegExp): Promise<void> {
  for (let i = 0; i < 5; i++) t.equal((await app.inject('/hello')).body, 'hello')
  await app.hindsight.profiler.flush()
  for (const url of ['/_profiler/', '/_profiler/search?status=404', '/_profiler/latest']) {
    const page = await app.inject({ url, headers: { accept: 'text/html' } })
    t.equal(page.statusCode, 503, url)
    t.match(page.body, reason, 'it names the store, and the reason')
    // The service answers errors of these routes by its diagnostic page.
    if (product === 'package') t.match(page.body, /\d+ profiles of this process were lost/)
  }
  const data = await app.inject('/_profiler/search.json')
  t.equal(data.statusCode, 503)
  t.ok(app.hindsight.profiler.queue.counters.failed > 0, 'losses are counted')
  if (product === 'service') return
  t.match(data, { headers: { 'content-type': 'application/problem+json' } })
  t.ok(data.json<{ counters: { failed: number } }>().counters.failed > 0, 'the answer has their number')
}

async function isAvailable (t: Test, app: FastifyInstance): Promise<void> {
  const { written } = app.hindsight.profiler.queue.counters
  await until(async () => {
    await app.inject('/hello')
    await app.hindsight.profiler.flush()
    return app.hindsight.profiler.queue.counters.written
  }, (now) => now > written)
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
}

inBothProducts('profiles are stored again after PostgreSQL was down, killed, suspended or full', async (t, build, product) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const place = `postgres:\\/\\/127\\.0\\.0\\.1:${postgres.port}\\/hindsight`
  await postgres.stop()
  const warnings: string[] = []
  const stream = { write: (line: string) => { if (line.includes('"level":40')) warnings.push((JSON.parse(line) as { msg: string }).msg) } }
  const onWarning = ({ message }: Error): void => { warnings.push(message) }
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  const options = { profiler: { storage: postgres.url } }
  const app = await build((app) => app.get('/hello', async () => 'hello'), options, { logger: { level: 'warn', stream } })
  await isUnavailable(t, app, product, new RegExp(`${place}.* cannot be used: .*ECONNREFUSED`))
  const lost = warnings.filter((line) => line.includes('Profiles are lost'))
  t.equal(lost.length, 1, 'one warning')
  t.match(lost[0], 'Profiles are lost: the store failed')
  await postgres.start()
  await isAvailable(t, app)

  await postgres.stop()
  await isUnavailable(t, app, product, new RegExp(`${place}.* cannot be used: `))
  await postgres.start()
  await isAvailable(t, app)

  postgres.pause()
  await isUnavailable(t, app, product, new RegExp(`${place}.* cannot be used: .*time`))
  postgres.resume()
  await isAvailable(t, app)

  // What PostgreSQL raises where the disk is full (class 53).
  await postgres.psql(`create function hindsight.fill_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
    create trigger disk_full before insert on hindsight.profiles for each statement execute function hindsight.fill_disk()`)
  await app.inject('/hello')
  await app.hindsight.profiler.flush()
  const page = await app.inject('/_profiler/')
  t.equal(page.statusCode, 200, 'a full server can be read')
  t.match(page.body, /Last reason: the store failed: .*No space left on device/)
  await postgres.psql('drop trigger disk_full on hindsight.profiles')
  await isAvailable(t, app)

  await postgres.psql('drop schema hindsight cascade')
  await app.inject('/hello')
  await app.hindsight.profiler.flush()
  await isAvailable(t, app)
})

t.test('a server that is killed repeatedly keeps every acknowledged profile', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const storage = await openStorage({ storage: postgres.url })
  t.teardown(() => storage.close())
  const acknowledged: string[] = []
  for (let kill = 0; kill < 3; kill++) {
    const wanted = acknowledged.length + 50
    const state = { isKilled: false }
    const writing = (async () => {
      for (let i = 0; !state.isKilled; i++) {
        const token = (kill * 10_000 + i).toString(16).padStart(6, '0')
        await put(storage, [i % 2 === 0 ? profile(token) : failure(token)]).then(() => acknowledged.push(token), () => {})
      }
    })()
    await until(async () => acknowledged.length, (length) => length >= wanted)
    await postgres.stop()
    state.isKilled = true
    await writing
    await postgres.start()
  }
  await until(async () => await Promise.resolve(storage.stats()).then(() => true, () => false), (is) => is)
  const lost: string[] = []
  for (const token of acknowledged) if (await storage.get(token) === undefined) lost.push(token)
  t.same(lost, [], `of ${acknowledged.length}`)
})

t.test('two instances of the service share profiles, sessions and login throttling', async (t) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const instance = async (): Promise<FastifyInstance> => await build(t, {
    profiler: { storage: postgres.url },
    session: { secret: SECRET },
    security: {
      firewalls: [{ name: 'main', authenticators: { basic: true as const } }],
      providers: { users: async (identifier: string) => ({ identifier, password: 'right', roles: [] }) },
      hasher: { verify: async (_hash: string, password: string) => password === 'right', hash: async () => 'right' }
    }
  } as never, (app) => {
    app.get('/login', async (request) => { request.session.user = 'ada'; return 'hello' })
    app.get('/who', async (request) => ({ user: request.session.user ?? null }))
  })
  const [one, other] = [await instance(), await instance()]

  const login = await one.inject('/login')
  const cookie = String(login.headers['set-cookie']).split(';')[0]
  t.same((await other.inject({ url: '/who', headers: { cookie } })).json(), { user: 'ada' }, 'a session of the other instance')
  await one.hindsight.profiler.flush()
  const token = String(login.headers['x-debug-token'])
  t.equal((await other.inject(`/_profiler/${token}.json`)).statusCode, 200, 'a profile of the other instance')

  const attempt = async (app: FastifyInstance, password: string, remoteAddress = '127.0.0.1'): Promise<number> => {
    const authorization = `Basic ${Buffer.from(`eve:${password}`).toString('base64')}`
    return (await app.inject({ url: '/who', headers: { authorization }, remoteAddress })).statusCode
  }
  for (let i = 0; i < 5; i++) t.equal(await attempt(i % 2 === 0 ? one : other, 'wrong'), 401)
  t.equal(await attempt(one, 'wrong'), 429, 'five failures on two instances')
  t.equal(await attempt(other, 'right'), 429)
  t.equal(await attempt(one, 'right', '10.0.0.2'), 200, 'at another address')

  await postgres.stop()
  t.equal((await one.inject({ url: '/who', headers: { cookie } })).statusCode, 503, 'without the server there are no sessions')
  t.equal(await attempt(other, 'wrong'), 401, 'each instance counts failed logins for itself')
  await postgres.start()
  const answer = async (): Promise<number> => (await other.inject({ url: '/who', headers: { cookie } })).statusCode
  await until(answer, (status) => status === 200)
  t.same((await other.inject({ url: '/who', headers: { cookie } })).json(), { user: 'ada' })
})

t.test('40 instances of the service start concurrently', async (t) => {
  const postgres = await postgresServer(t, { settings: { max_connections: 200 } })
  if (!postgres) return
  const apps = await Promise.all(Array.from({ length: 40 }, async () => await build(t, {
    profiler: { storage: postgres.url }, session: { secret: SECRET }
  }, (app) => app.get('/count', async (request) => { request.session.count = 1; return 'counted' }))))
  const answers = await Promise.all(apps.map(async (app) => await app.inject('/count')))
  t.same(answers.map(({ statusCode }) => statusCode), apps.map(() => 200))
  await Promise.all(apps.map(async (app) => await app.hindsight.profiler.flush()))
  t.same(apps.map((app) => app.hindsight.profiler.queue.counters.failed), apps.map(() => 0))
  t.equal(await postgres.psql('select count(*) from hindsight.sessions'), '40')
})
