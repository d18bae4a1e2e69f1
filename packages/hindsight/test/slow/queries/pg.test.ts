import Fastify from 'fastify'
import fastifyPostgres, { type PostgresDb } from '@fastify/postgres'
import pg from 'pg'
import Cursor from 'pg-cursor'
import QueryStream from 'pg-query-stream'
import t, { type Test } from 'tap'
import { observe } from '../../../src/queries/observe.js'
import { compare, type Program } from '../../queries/compare.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { postgresServer, type PostgresServer } from '../../support/postgres.js'

const TABLE = 'create table item (id int primary key, name text unique); insert into item values (1, \'one\'), (2, \'two\'), (3, \'three\')'
const system = 'postgresql'

async function server (t: Test): Promise<PostgresServer | null> {
  const postgres = await postgresServer(t)
  await postgres?.psql(TABLE)
  return postgres
}

type Queryable = Pick<pg.Pool, 'query'>

const QUERIES: ReadonlyArray<Program<Queryable>> = [
  {
    name: 'promises, callbacks, named statements, modes and several statements',
    async run (client, note) {
      note(await client.query('select name from item where id > $1 order by id', [1]))
      note(await client.query({ text: 'select name from item where id = $1', values: [3], name: 'byId', rowMode: 'array' }))
      note(await client.query({ text: 'select name from item where id = $1', name: 'byId' } as pg.QueryConfig, [2]))
      note(await client.query('select 1; select 2 as b'))
      await new Promise<void>((resolve) => {
        client.query('select $1::int as n', [5], function (this: unknown, ...args: unknown[]) {
          note(...args, this === undefined)
          resolve()
        })
      })
      await new Promise<void>((resolve) => {
        client.query('select 6 as n', (...args: unknown[]) => resolve(note(...args)))
      })
      const promise = client.query('select 7')
      note(promise.constructor === Promise, (await promise).rows)
    },
    queries: [
      { system, statement: 'select name from item where id > $1 order by id', parameters: [1], rows: 2 },
      { parameters: [3], rows: 1 },
      { parameters: [2], rows: 1 },
      { statement: 'select 1; select 2 as b', rows: 2 },
      { parameters: [5], rows: 1 },
      { statement: 'select 6 as n', rows: 1 },
      { statement: 'select 7' }
    ]
  },
  {
    name: 'failures, with the stacks of the application',
    async run (client, note) {
      const ask = async (text: string, values?: unknown[]): Promise<unknown> => await client.query(text, values)
      for (const [text, values] of [
        ['select nothing from item'], ['insert into item values (1)'], ['select $1::int', ['x']], ['select $1::int', []]
      ] as Array<[string, unknown[]?]>) {
        await ask(text, values).catch(note)
      }
      for (const wrong of [undefined, null, {}, 5]) {
        try {
          await client.query(wrong as never)
        } catch (error) {
          note(error)
        }
      }
      await new Promise<void>((resolve) => client.query('select nothing', (error: Error) => resolve(note(error))))
    },
    queries: [
      { statement: 'select nothing from item', error: { code: '42703', position: '8' } },
      { error: { code: '23505', table: 'item', constraint: 'item_pkey', detail: /already exists/ } },
      { error: { code: '22P02' } },
      { error: { code: '42P02' } },
      { statement: 'select nothing' }
    ]
  }
]

const CLIENT: ReadonlyArray<Program<pg.ClientBase>> = [
  {
    name: 'cursors and streams',
    async run (client, note) {
      const cursor = client.query(new Cursor('select id from item where id > $1 order by id', [0]))
      note(cursor instanceof Cursor, await cursor.read(2), await cursor.read(2), await cursor.read(2))
      await cursor.close()
      for await (const row of client.query(new QueryStream('select id from item order by id'))) note(row)
      const failing = client.query(new Cursor('select nothing from item'))
      note(failing.listenerCount('error'))
      await failing.read(1).catch(note)
      const stream = client.query(new QueryStream('select nothing from item'))
      note(stream.listenerCount('error'))
      await new Promise<void>((resolve) => stream.on('error', (error) => resolve(note(error))).resume())
    },
    queries: [
      { statement: 'select id from item where id > $1 order by id', parameters: [0] },
      { statement: 'select id from item order by id' },
      { statement: 'select nothing from item' },
      { statement: 'select nothing from item', error: { code: '42703' } }
    ]
  },
  {
    name: 'a transaction that is rolled back',
    async run (client, note) {
      await client.query('begin')
      await client.query('delete from item')
      await client.query('insert into item values (null)').catch(note)
      await client.query('rollback')
      note((await client.query('select * from item')).rows)
    },
    queries: [{ statement: 'begin' }, { rows: 3 }, { error: { code: '23502' } }, { statement: 'rollback' }, { rows: 3 }]
  },
  {
    name: 'a subclass, and how the client looks',
    run (client, note) {
      note(client instanceof pg.Client, Object.keys(client), client.constructor.name, client.query.name, client.query.length, String(client.query))
      for (const property in client) note(property)
    },
    queries: []
  }
]

const POOL: ReadonlyArray<Program<pg.Pool>> = [
  {
    name: 'connections of the pool, by promises and callbacks',
    async run (pool, note) {
      const client = await pool.connect()
      note(client instanceof pg.Client, (await client.query('select 1 as n')).rows)
      client.release()
      note(pool.totalCount, pool.idleCount)
      await new Promise<void>((resolve, reject) => pool.connect((error, client, release) => {
        client?.query('select 2 as n').then(({ rows }) => {
          note(error, rows, release === client.release)
          release()
          resolve()
        }, reject)
      }))
      const results = await Promise.all([3, 4, 5].map(async (n) => (await pool.query('select $1::int as n', [n])).rows))
      note(results, pool.waitingCount)
    },
    queries: [
      { statement: 'select 1 as n', rows: 1, wait: Number }, { statement: 'select 2 as n', wait: Number }, { parameters: [3], wait: Number },
      { parameters: [4], wait: Number }, { parameters: [5], wait: Number }
    ]
  },
  {
    name: 'an ended pool, and how it looks',
    async run (pool, note) {
      note(pool, pool instanceof pg.Pool, Object.keys(pool), pool.eventNames())
      const { query } = pool
      try {
        await query('select 1')
      } catch (error) {
        note(error)
      }
      await pool.end()
      await pool.query('select 1').catch(note)
      await pool.connect().catch(note)
      await new Promise<void>((resolve) => pool.connect((...args) => resolve(note(args))))
    },
    queries: [{ error: { name: 'TypeError' } }, { statement: 'select 1', error: { message: 'Cannot use a pool after calling end on the pool' } }]
  }
]

t.test('pg', async (t) => {
  const postgres = await server(t)
  if (!postgres) return
  const connectionString = postgres.url
  const openPool = (): pg.Pool => new pg.Pool({ connectionString, max: 2 })
  const closePool = async (pool: pg.Pool): Promise<void> => { if (!pool.ended) await pool.end() }
  const openClient = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    return client
  }
  const closeClient = async (client: pg.Client): Promise<void> => await client.end()
  await t.test('Client', async (t) => await compare(t, openClient, closeClient, [...QUERIES, ...CLIENT]))
  await t.test('Pool', async (t) => await compare(t, openPool, closePool, [...QUERIES, ...POOL]))
  await t.test('decorator of @fastify/postgres', async (t) => {
    const apps = new Map<object, () => Promise<void>>()
    const open = async (): Promise<PostgresDb> => {
      const app = Fastify()
      await app.register(fastifyPostgres, { connectionString })
      apps.set(app.pg, () => app.close())
      return app.pg
    }
    await compare<PostgresDb>(t, open, (pg) => apps.get(pg)?.(), [...QUERIES as ReadonlyArray<Program<PostgresDb>>, {
      name: 'connect, and a transaction',
      async run (pg, note) {
        const client = await pg.connect()
        note((await client.query('select 1 as n')).rows)
        client.release()
        note(await pg.transact(async (client) => (await client.query('select 2 as n')).rows))
        await pg.transact(async (client) => await client.query('select nothing')).catch(note)
        note((await pg.pool.query('select 3 as n')).rows)
      },
      queries: [
        { statement: 'select 1 as n', wait: Number }, { statement: 'BEGIN', wait: Number }, { statement: 'select 2 as n' }, { statement: 'COMMIT' },
        { statement: 'BEGIN' }, { statement: 'select nothing', error: { code: '42703' } }, { statement: 'ROLLBACK' }, { statement: 'select 3 as n' }
      ]
    }])
  })
})

inBothProducts('a query of a callback is one of the request that sent the first one', async (t, build) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const pool = observe(new pg.Pool({ connectionString: postgres.url, max: 1 }))
  t.teardown(() => pool.end())
  const app = await build((app) => app.get<{ Params: { n: string } }>('/:n', ({ params: { n } }, reply) => {
    pool.query('select $1', [n], () => {
      pool.query('select $1, 2', [n], () => { reply.send('x') })
    })
  }))
  for (const n of ['1', '2']) {
    const { collectors } = await profileOf(app, await app.inject(`/${n}`))
    t.match(collectors.queries, { count: 2, queries: [{ parameters: [n] }, { statement: 'select $1, 2', parameters: [n] }] })
  }
})

inBothProducts('an error of a callback has few calls of Hindsight between it and the client', async (t, build) => {
  const postgres = await postgresServer(t)
  if (!postgres) return
  const pool = observe(new pg.Pool({ connectionString: postgres.url }))
  t.teardown(() => pool.end())
  const app = await build((app) => app.get('/', (_, reply) => { pool.query('select 1', () => { reply.send(new Error('x').stack) }) }))
  const frames = (await app.inject('/')).body.split('\n').slice(1)
  t.match(frames, [/pg\.test\.ts:/, /AsyncLocalStorage\.run/, /enter/, /observed/, /node_modules.pg-pool/])
})

inBothProducts('a query of the pool outside of a transaction, and a transaction that is left open', async (t, build) => {
  const postgres = await server(t)
  if (!postgres) return
  const pool = observe(new pg.Pool({ connectionString: postgres.url }))
  t.teardown(() => pool.end())
  const app = await build((app) => app.get<{ Params: { end: string } }>('/:end', async ({ params: { end } }) => {
    const client = await pool.connect()
    await client.query('begin')
    await client.query('update item set name = name where id = 1')
    const { rows } = await pool.query('select name from item where id = 1')
    if (end === 'commit') await client.query('commit')
    client.release(end !== 'commit')
    return rows
  }))
  const outside = /^`select name from item where id = \?` from .*pg\.test\.ts:\d+ was sent outside of the transaction .* had changed item$/
  for (const [url, ...texts] of [['/commit', outside], ['/open', outside, /^The transaction .* was neither committed nor rolled back/]] as const) {
    const { collectors } = await profileOf(app, await app.inject(url))
    const { findings } = collectors.queries as { findings: Array<{ kind: string }> }
    // On a busy machine a query may be slow, too.
    const found = findings.filter(({ kind }) => kind !== 'slow')
    t.match(found, texts.map((text) => ({ kind: 'transaction', text })))
    t.equal(found.length, texts.length)
  }
})

inBothProducts('a pool whose connections are taken: the time of waiting is separate', async (t, build) => {
  const postgres = await server(t)
  if (!postgres) return
  const pool = observe(new pg.Pool({ connectionString: postgres.url, max: 1 }))
  t.teardown(() => pool.end())
  await pool.query('select 1')
  const times = { begun: 0, waiting: 0, free: 0, ended: 0 }
  const app = await build((app) => app.get('/', async () => {
    const client = await pool.connect()
    times.begun = performance.now()
    const second = pool.query('select 2')
    times.waiting = performance.now()
    await client.query('select pg_sleep(0.2)')
    times.free = performance.now()
    client.release()
    await second
    times.ended = performance.now()
    await pool.query('select nothing from item')
  }))
  const { collectors } = await profileOf(app, await app.inject('/'))
  const { queries, ...all } = collectors.queries as { queries: Array<{ statement: string, wait: number, duration: number }> }
  t.match({ ...all }, { count: 3, failed: 1 })
  const { wait = 0, duration = 0 } = queries.find(({ statement }) => statement === 'select 2') ?? {}
  const text = /^The one connection of the pool was in use: 1 query waited up to .* for one, the first from .*pg\.test\.ts:/
  t.match(collectors.queries, { findings: [{ kind: 'pool', text }] })
  // Times of profiles are rounded to microseconds.
  const [least, most] = [times.free - times.waiting - 0.01, times.ended - times.begun + 0.01]
  t.ok(wait >= least, `it waited at least ${least} ms: ${wait} ms`)
  t.ok(wait + duration <= most, `both times together have at most ${most} ms: ${wait} and ${duration} ms`)
  const source = /pg\.test\.ts:\d+/
  t.match([...queries].sort((a, b) => a.statement < b.statement ? -1 : 1), [
    { statement: 'select 2', source },
    { statement: 'select nothing from item', source, error: { code: '42703', position: '8' } },
    { statement: 'select pg_sleep(0.2)', source, rows: 1 }
  ])
})
