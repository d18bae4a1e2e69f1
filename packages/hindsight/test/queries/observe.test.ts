import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { cpSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import t, { type Test } from 'tap'
import { observe, recordQuery } from '../../src/queries.js'
import { QUERY_CHANNEL } from '../../src/queries/channel.js'
import type { Query } from '../../src/queries/query.js'
import { testdir } from '../support/folder.js'
import { withoutInternalFrames } from '../support/internal-frames.js'
import { inBothProducts } from '../support/products.js'
import { profileOf } from '../support/app.js'

function recorded (t: Test): Query[] {
  const queries: Query[] = []
  const record = (query: unknown): void => { queries.push(query as Query) }
  subscribe(QUERY_CHANNEL, record)
  t.teardown(() => unsubscribe(QUERY_CHANNEL, record))
  return queries
}

function database (t: Test): InstanceType<typeof DatabaseSync> {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  return database
}

t.test('the entry point loads nothing but the capture', (t) => {
  const root = join(import.meta.dirname, '../../src')
  const loaded = new Set(['queries.ts'])
  for (const file of loaded) {
    for (const [, path = ''] of readFileSync(join(root, file), 'utf8').matchAll(/from '(\.[^']+)\.js'/g)) {
      loaded.add(relative(root, join(root, file, '..', `${path}.ts`)))
    }
  }
  t.same([...loaded].filter((file) => !file.startsWith('queries/')), ['queries.ts', 'clock.ts', 'require.ts'])
  t.end()
})

t.test('two copies of the package observe a client once', async (t) => {
  const queries = recorded(t)
  const folder = testdir(t)
  for (const file of ['queries', 'clock.ts', 'require.ts']) cpSync(join(import.meta.dirname, '../../src', file), join(folder, file), { recursive: true })
  const other = await import(join(folder, 'queries/observe.ts')) as { observe: typeof observe, recordQuery: typeof recordQuery }
  t.not(other.observe, observe)
  const client = database(t)
  t.equal(other.observe(client), client)
  const { prepare } = client
  t.equal(observe(client), client)
  t.equal(client.prepare, prepare)
  client.prepare('select 1').get()
  other.recordQuery({ system: 'clickhouse', statement: 'select 2' })()
  t.match(queries, [{ statement: 'select 1' }, { statement: 'select 2', endedAt: Number }])
  t.equal(queries.length, 2)
})

const ACCEPTED = 'observe() needs a database client: Pool or Client of pg, decorator of @fastify/postgres; sql of postgres; ' +
  'DatabaseSync of node:sqlite or @photostructure/sqlite, Database of better-sqlite3; Pool of mysql2; instance of knex; PrismaClient; ' +
  'DataSource of typeorm; instance of sequelize; MongoClient of mongodb. For another client use recordQuery().'

t.test('anything but a client is refused, with what is accepted', async (t) => {
  for (const value of [undefined, null, 'postgres://', {}, [], () => {}, pg.Pool, pg.Client, DatabaseSync, new Map(), { query () {} }]) {
    t.throws(() => observe(value as object), new TypeError(ACCEPTED))
  }
})

t.test('a client that is observed twice is the same, and its queries are recorded once', async (t) => {
  const queries = recorded(t)
  const client = database(t)
  t.equal(observe(client), client)
  const { prepare } = client
  t.equal(observe(observe(client)), client)
  t.equal(client.prepare, prepare)
  client.prepare('select 1').get()
  t.equal(queries.length, 1)
})

t.test('in production a client is untouched, unless profiles are recorded there', async (t) => {
  const { NODE_ENV, PROFILER } = process.env
  t.teardown(() => {
    for (const [name, value] of Object.entries({ NODE_ENV, PROFILER })) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  process.env.NODE_ENV = 'production'
  for (const [profiler, isObserved] of [[undefined, false], ['', false], ['off', false], ['errors', true], ['all', true]] as const) {
    if (profiler === undefined) delete process.env.PROFILER
    else process.env.PROFILER = profiler
    const client = database(t)
    t.equal(observe(client), client)
    t.equal(Object.hasOwn(client, 'prepare'), isObserved, `PROFILER=${profiler}`)
    t.throws(() => observe({}), new TypeError(ACCEPTED))
  }
  delete process.env.PROFILER
  recorded(t)
  t.ok(Object.hasOwn(observe(database(t)), 'prepare'), 'after the registration of an application that records profiles')
})

t.test('mocks of node:test see the same calls, before and after', async (t) => {
  const { mock } = await import('node:test')
  for (const isObserved of [false, true]) {
    const pool = new pg.Pool()
    if (isObserved) observe(pool)
    const query = mock.method(pool, 'query', () => 'mocked')
    t.equal(pool.query('select 1') as unknown, 'mocked')
    t.same(query.mock.calls.map(({ arguments: args, this: self }) => [args, self === pool]), [[['select 1'], true]])
    query.mock.restore()
    t.equal(pool.query.name, 'query')

    const before = new pg.Pool()
    const mocked = mock.method(before, 'query', () => undefined)
    if (isObserved) observe(before)
    t.equal(before.query('select 2') as unknown, undefined)
    t.equal(mocked.mock.callCount(), 1)
    t.equal((before.query as typeof mocked).mock, mocked.mock)
  }
})

t.test('recordQuery records a query of any client', async (t) => {
  const queries = recorded(t)
  recordQuery({ system: 'clickhouse', statement: 'select 1', parameters: [1] })({ rows: 3 })
  const end = recordQuery({ system: 'clickhouse', statement: 'select 2' })
  const error = new Error('no')
  end({ error })
  end({ rows: 1 })
  recordQuery({ system: 'clickhouse', statement: 'select 3' })({ duration: 50 })
  recordQuery({ system: 'clickhouse', statement: 'select 4' })()
  t.match(queries, [{ statement: 'select 1', parameters: [1], rows: 3 }, { error }, { statement: 'select 3' }, { endedAt: Number }])
  t.equal(queries[1]?.rows, undefined, 'it ends once')
  const { startedAt = NaN, endedAt = NaN } = queries[2] ?? {}
  t.equal(Math.round(endedAt - startedAt), 50)
  for (const wrong of [{}, { system: 'x' }, { system: 1, statement: 'x' }]) {
    t.throws(() => recordQuery(wrong as never), new TypeError('recordQuery() needs `system` and `statement`, two texts'))
  }
})

inBothProducts('queries have the line that sent them, in a profile', async (t, build) => {
  const client = observe(database(t))
  const app = await build((app) => app.get('/', async () => {
    client.exec('create table if not exists item (id integer)')
    await sleep(1)
    recordQuery({ system: 'clickhouse', statement: 'select 2' })({ rows: 1 })
    return client.prepare('select * from item where id = ?').all(4)
  }))
  const { collectors } = await profileOf(app, await app.inject('/'))
  t.match(collectors.queries, {
    count: 3,
    failed: 0,
    queries: [
      { system: 'sqlite', statement: /^create table/, source: /test\/queries\/observe\.test\.ts:\d+:\d+$/, rows: null },
      { system: 'clickhouse', source: /observe\.test\.ts/, rows: 1 },
      { system: 'sqlite', statement: 'select * from item where id = ?', parameters: [4], source: /observe\.test\.ts/, rows: 0 }
    ]
  })
})

/** Sent when it is awaited, as each query of Prisma: no promise, and its stack has no frame of the call. */
class Lazy implements PromiseLike<unknown> {
  readonly #send: () => Promise<unknown>
  constructor (send: () => Promise<unknown>) { this.#send = send }
  then: PromiseLike<unknown>['then'] = (resolve, reject) => setImmediate().then(this.#send).then(resolve, reject)
}

interface Extension { query: { $allOperations: (operation: object) => Promise<unknown> } }

/** What `PrismaClient` 7.10 does with `$extends({ query: { $allOperations } })`, without its generated client. */
class PrismaStub {
  extension: Extension | null = null
  async $connect (): Promise<void> {}
  $extends (extension: Extension): PrismaStub {
    return Object.assign(Object.create(this) as PrismaStub, { extension })
  }

  async $transaction (queries: Lazy[]): Promise<unknown[]> {
    return await new Promise((resolve, reject) => { Promise.all(queries).then(resolve, reject) })
  }

  call (operation: string, args: unknown, model?: string): Lazy {
    const query = (args: unknown): Lazy => new Lazy(async () => {
      await sleep(5)
      if (operation === 'delete') throw new Error('P2025')
      if (operation === 'findFirst') return null
      return operation === 'findMany' ? [1, 2] : operation === 'updateMany' ? { count: 4 } : operation === 'count' ? 9 : args
    })
    const { extension } = this
    return extension === null ? query(args) : new Lazy(() => extension.query.$allOperations({ model, operation, args, query }))
  }
}

t.test('Prisma: the extended client is returned, and its operations are recorded', async (t) => {
  const queries = recorded(t)
  const client = new PrismaStub()
  const extended = observe(client)
  t.not(extended, client)
  t.equal(observe(client), extended)
  t.equal(observe(extended), extended)
  const where = { where: { id: 1 } }
  t.same(await extended.call('findMany', where, 'User'), [1, 2])
  t.same(await extended.call('updateMany', where, 'User'), { count: 4 })
  await t.rejects(Promise.resolve(extended.call('delete', where, 'User')), new Error('P2025'))
  await extended.call('findUnique', { where: { count: 3 } }, 'User')
  await extended.call('findFirst', where, 'User')
  await extended.call('count', {}, 'User')
  await extended.call('$queryRaw', { text: 'select $1', sql: 'select ?', values: [7] })
  await extended.call('$executeRawUnsafe', ['delete from item where id = $1', 5])
  t.match(queries, [
    { system: 'prisma', statement: 'User.findMany', parameters: where, rows: 2 },
    { statement: 'User.updateMany', rows: 4 },
    { statement: 'User.delete', error: { message: 'P2025' } },
    { statement: 'User.findUnique', rows: 1 },
    { statement: 'User.findFirst', rows: 0 },
    { statement: 'User.count', rows: 1 },
    { system: 'other_sql', statement: 'select $1', parameters: [7] },
    { system: 'other_sql', statement: 'delete from item where id = $1', parameters: [5] }
  ])
  for (const { statement, startedAt, endedAt = 0 } of queries) t.ok(endedAt - startedAt > 3, `${statement} ends with its result`)
})

inBothProducts('Prisma: the line that has awaited a query, or has sent several together, and an error with its stack', async (t, build) => {
  const client = observe(new PrismaStub())
  const stacks: string[][] = []
  const app = await build((app) => app.get('/', async () => {
    await client.call('findFirst', {}, 'User')
    await client.$transaction([client.call('findMany', {}, 'User'), client.call('count', {}, 'User')])
    for (const each of [new PrismaStub(), client]) {
      await Promise.resolve(each.call('delete', {}, 'User')).catch(({ stack }: Error) => {
        stacks.push(withoutInternalFrames(String(stack)).split('\n').filter((line) => !line.includes('PrismaStub')))
      })
    }
  }))
  const { collectors } = await profileOf(app, await app.inject('/'))
  t.match(collectors.queries, {
    count: 4, failed: 1, queries: Array.from({ length: 4 }, () => ({ source: /observe\.test\.ts:\d+:\d+$/, duration: Number }))
  })
  t.equal(stacks[0]?.[0], 'Error: P2025')
  t.same(stacks[1], stacks[0])
})
