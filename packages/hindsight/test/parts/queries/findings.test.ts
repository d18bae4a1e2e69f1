import { readFileSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import t from 'tap'
import { findingsOf } from '../../../src/parts/queries/findings.js'
import type { QueryGroup } from '../../../src/parts/queries/groups.js'
import type { RecordedQuery } from '../../../src/parts/queries/recorded-query.js'
import { queryPlace } from '../../../src/parts/queries/trace.js'
import { observe, recordQuery } from '../../../src/queries/observe.js'
import { beginQuery, callAsync } from '../../../src/queries/query.js'
import { readSearch } from '../../../src/store/search-query.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import type { Database } from './database.js'
import { recordedFrom, times, type Sent } from './sent.js'

const item = 'select * from item where id = $1'
const redis = { system: 'redis' }
const mongodb = { system: 'mongodb' }
const list: Sent = { from: 'orders.js:28 list', sql: 'select * from orders where user_id = $1', parameters: [1], rows: 24 }
const inLoop = (i: number): Sent => ({ from: 'orders.js:31 list', sql: item, parameters: [i] })
const repeated = (sql: string, parameters: (i: number) => unknown = (i) => [i], others: Partial<Sent> = {}): Sent[] =>
  times(6, (i): Sent => ({ from: 'a.js:9 load', sql, parameters: parameters(i), ...others }))

function findings (sent: readonly Sent[], slow = 100) {
  return findingsOf(recordedFrom(sent), 140, slow)
}

/** Queries without a finding. */
const ordinary: Readonly<Record<string, readonly Sent[]>> = {
  'a list and one query for its details': [list, { from: 'orders.js:31 list', sql: 'select * from item where order_id in ($1, $2)', parameters: [1, 2] }],
  'four of one line': times(4, inLoop),
  'lines of one function': times(6, (i): Sent => ({ from: `seed.js:${i + 3} seed`, sql: item, parameters: [i] })),
  'calls of a helper for any statement': times(12, (i): Sent => ({
    from: `db.js:10 query < repo.js:${i} find`, sql: i % 2 === 0 ? item : `select * from t${i} where id = $1`, parameters: [i]
  })),
  'pages by offset': repeated('select * from log order by id limit $1 offset $2', (i) => [50, i * 50]),
  'pages of MySQL': repeated('select * from log order by id limit ?, 50', (i) => [i * 50], { system: 'mysql' }),
  'pages by keyset': repeated('select * from post where (created, id) < ($1, $2) order by created desc limit 20', (i) => [`d${i}`, i]),
  'pages of SQL Server': repeated('select * from post offset @o rows fetch next 20 rows only', (i) => ({ o: i }), { system: 'microsoft.sql_server' }),
  'pages of MongoDB': repeated('post.find', (i) => [{ draft: false }, { skip: i * 10, limit: 10 }], mongodb),
  ranges: repeated('select * from post where id between $1 and $2', (i) => [i * 500, i * 500 + 499]),
  writes: [...repeated('insert into log (a) values ($1)'), ...repeated('with a as (insert into log (b) values ($1) returning b) select * from a')],
  'writes of Redis and MongoDB': [
    ...repeated('INCR', (i) => [`hits:${i}`], redis), ...repeated('post.updateOne', (i) => [{ _id: i }, { $inc: { n: 1 } }], mongodb)
  ],
  'checks of a connection': repeated('select 1', () => []),
  'a pipeline of Redis': times(20, (i): Sent => ({ from: 'cart.js:3 load', sql: 'GET', parameters: [`item:${i}`], ...redis, together: i > 0 })),
  'rows that Prisma asks for together': times(6, (i): Sent =>
    ({ from: 'a.js:9 load', sql: 'Item.findUnique', parameters: { where: { id: i } }, system: 'prisma', together: i > 0 })),
  'the same at the database of each tenant': repeated('select count(*) from users', () => []).map((query, client) => ({ ...query, client })),
  'a value that is read again after it was written': [
    inLoop(1), { from: 'a.js:4 save', sql: 'update item set n = 2 where id = $1', parameters: [1] }, { ...inLoop(1), from: 'a.js:5 save' }
  ],
  'a value that is read in two transactions': times(2, (): Sent[] => [{ from: 'a.js:3', sql: 'begin' }, inLoop(1), { from: 'a.js:9', sql: 'commit' }]),
  'a value that is read again after a failure': [inLoop(1), { ...inLoop(2), error: 'timeout' }, inLoop(1)],
  'commands of Redis whose keys the client hides': times(4, (): Sent => ({ from: 'a.js:3 load', sql: 'HGETALL', parameters: ['?'], ...redis }))
}

t.test('ordinary code has no findings', async t => {
  for (const [name, sent] of Object.entries(ordinary)) t.same(findings(sent), [], name)
})

const over24 = 'N+1: `select * from item where id = ?` 24 times from src/orders.js:31 after the 24 rows of src/orders.js:28, 96 ms of 140 ms'
const sixTimes = '`select * from item where id = ?` 6 times from src/a.js:9, 24 ms of 140 ms'

/** Queries, and the sentences about them. */
const found: Readonly<Record<string, readonly [sent: readonly Sent[], ...sentences: Array<string | RegExp>]>> = {
  'a loop over the rows of a query': [[list, ...times(24, inLoop)], over24],
  'at the same time': [[list, ...times(24, (i) => ({ ...inLoop(i), together: i > 0 }))], over24.replace('96 ms of', '4 ms of')],
  'with literals': [[list, ...times(24, (i): Sent => ({ from: 'orders.js:31 list', sql: `select * from item where id = ${i}` }))], over24],
  'few values of many rows': [[list, ...times(24, (i) => inLoop(i % 3))], over24],
  'a helper for any statement': [
    [
      { ...list, from: 'db.js:3 query < orders.js:28 list' }, ...times(24, (i) => ({ ...inLoop(i), from: 'db.js:3 query < orders.js:31 list' })),
      { from: 'db.js:3 query < orders.js:40 list', sql: 'select * from shop' }
    ],
    over24
  ],
  'without a query with as many rows': [[{ ...list, rows: 7 }, ...repeated(item)], sixTimes],
  'without a known line': [times(6, (i) => ({ ...inLoop(i), from: '' })), '`select * from item where id = ?` 6 times from an unknown line, 24 ms of 140 ms'],
  'with equal values': [
    times(24, (): Sent => ({ from: 'a.js:9 load', sql: item, parameters: [1] })),
    'The same query: `select * from item where id = ?` 24 times from src/a.js:9, 96 ms of 140 ms'
  ],
  'longer than the request': [times(6, (i) => ({ ...inLoop(i), ms: 40 })), /6 times from src\/orders\.js:31, 240 ms$/],
  'many columns': [
    repeated('select id, name, price, description, category from item where id = $1'),
    '`select … from item where id = ?` 6 times from src/a.js:9, 24 ms of 140 ms'
  ],
  'two lines': [[...repeated(item), ...times(5, inLoop)], sixTimes, /5 times from src\/orders\.js:31/],
  'a word of a write in a text': [repeated("select id from item where id = $1 and label <> 'now (or insert into)'"), /6 times/],
  'a word of a write in a name': [repeated('select share, "update" from lock where id = $1'), /6 times/],
  'functions that differ with each call': [
    [
      ...repeated('select * from item where id = $1 and until > now()'), ...repeated('select * from tag where id = $1 order by random() limit 1'),
      ...repeated('select pg_sleep(0.001) from shop where id = $1')
    ],
    /6 times/, /6 times/, /6 times/
  ],
  locks: [repeated('select * from task where id = $1 for update skip locked'), /6 times/],
  'a table expression': [repeated('with x as (select * from item) select * from x where id = $1'), /6 times/],
  'operations of Prisma': [
    repeated('Item.findUnique', (i) => ({ where: { id: i } }), { system: 'prisma' }), /^`Item\.findUnique\(\{ where: \{ id: \? \} \}\)` 6 times/
  ],
  'findOne of MongoDB': [repeated('item.findOne', (i) => [{ _id: i }], mongodb), /^`item\.findOne\(\{ _id: \? \}\)` 6 times/],
  'GET of Redis': [repeated('GET', (i) => [`item:${i}`], redis), /^`GET item:\?` 6 times/],
  'HGETALL of Redis, whose key the client hides': [repeated('HGETALL', () => ['?'], redis), /^`HGETALL \?` 6 times/],
  'with hidden values': [repeated('select * from invite where token = $1', (i) => [`t${i}`]), /^`select \* from invite where token = \?` 6 times/],
  'duplicates of two helpers': [
    [{ from: 'auth.js:5 user', sql: item, parameters: [1] }, { from: 'menu.js:9 user', sql: item, parameters: [1] }],
    'The same query: `select * from item where id = ?` 2 times from src/auth.js:5 and src/menu.js:9'
  ],
  'duplicates before and after a write of another database': [
    [inLoop(1), { from: 'a.js:6 user', sql: 'INCR', parameters: ['n'], ...redis }, inLoop(1)], /^The same query: .* 2 times/
  ],
  'duplicates of Redis': [
    times(2, (i): Sent => ({ from: `a.js:${i + 5} user`, sql: 'GET', parameters: ['settings'], ...redis })), /^The same query: `GET settings`/
  ],
  'duplicates at one of two databases': [times(4, (i): Sent => ({ ...inLoop(i < 2 ? 1 : i), client: i < 2 ? 1 : i })), /2 times/],
  'a slow query': [
    [{ from: 'a.js:3 load', sql: 'select * from log where text like $1', parameters: ['%x%'], ms: 120 }],
    '`select * from log where text like ?` took 120 ms, from src/a.js:3'
  ]
}

t.test('repeated and slow queries are found, and nothing else', async t => {
  for (const [name, [sent, ...sentences]] of Object.entries(found)) {
    const texts = findings(sent).map(({ text }) => text)
    t.equal(texts.length, sentences.length, `${name}: ${texts.join('; ')}`)
    for (const [i, sentence] of sentences.entries()) {
      if (typeof sentence === 'string') t.equal(texts[i], sentence, name)
      else t.match(texts[i], sentence, name)
    }
  }
})

t.test('a finding has its kind and the positions of its queries', async t => {
  t.match(findings([{ ...list, rows: 5 }, ...times(5, inLoop)]), [{ kind: 'n+1', queries: [1, 2, 3, 4, 5] }])
  t.match(findings(times(5, inLoop)), [{ kind: 'repeated', queries: [0, 1, 2, 3, 4] }])
  t.match(findings(times(5, () => inLoop(1))), [{ kind: 'duplicates', queries: [0, 1, 2, 3, 4] }])
  t.match(findings([{ ...list, ms: 30 }], 20), [{ kind: 'slow', queries: [0] }], 'by the option')
  t.same(findings([{ ...list, ms: 19 }], 20), [])
  t.equal(queryPlace({ source: null }), 'an unknown line')
  const counted = findingsOf(recordedFrom(times(5, inLoop)), 140, 100, () => 3)[0]?.text
  t.match(counted, /` 8 times from .*, at least 20 ms of 140 ms$/, 'with those that are only counted')
})

/** Sends a query as a client would, with the stack of the code that calls this function. */
function send (sql: string, parameters?: unknown, { system = 'postgresql', rows = 1 } = {}): Promise<void> {
  const end = recordQuery({ system, statement: sql, parameters })
  return new Promise((resolve) => setImmediate(() => { resolve(end({ rows })) }))
}

async function findItem (id: number): Promise<void> {
  await send(item, [id])
}

/** Sends any statement. */
async function anything (sql: string, ...parameters: unknown[]): Promise<void> {
  await send(sql, parameters)
}

const source = readFileSync(import.meta.filename, 'utf8').split('\n')

/** The first line of this file with a text. */
function lineWith (text: string): string {
  return `findings\\.test\\.ts:${source.findIndex((line) => line.includes(text)) + 1}`
}

/** The same loop in five spellings of its statement: functions, columns and texts make no read a write. */
const spellings = [
  'select label from bottle where id = ?',
  'select label from bottle where id = ? and until > now()',
  'select label from bottle where id = ? order by random() limit 1',
  'select share from bottle where id = ?',
  "select label from bottle where id = ? and label <> 'now (or never)'"
]

function bottles (): Database {
  const database = observe(new DatabaseSync(':memory:'))
  database.function('now', () => 1)
  database.exec('create table bottle (id integer primary key, label text, share integer, until integer)')
  for (let id = 1; id <= 9; id++) database.prepare('insert into bottle values (?, ?, 1, 5)').run(id, `label ${id}`)
  return database
}

inBothProducts('findings of requests have the real lines of their code', async (t, build) => {
  const app = await build((app) => {
    const database = bottles()
    app.get<{ Params: { n: number } }>('/bottles/:n', async ({ params: { n } }) => {
      const all = database.prepare('select id from bottle').all()
      return all.map((row) => database.prepare(spellings[n] ?? '').get(Object(row).id as number))
    })
    app.get('/loop', async () => {
      for (let i = 0; i < 6; i++) await findItem(i)
      return 'x'
    })
    app.get('/by-helper', async () => {
      await anything('select name from users')
      for (const id of [1, 2, 3, 4, 5]) await anything('select name from users where id = $1', id)
      return 'x'
    })
    app.get('/hook-and-handler', {
      preHandler: async () => { await anything('select role from users where id = $1', 7) }
    }, async () => {
      await anything('select role from users where id = $1', 7) // again
      return 'x'
    })
    app.get('/without-parameters', async () => {
      await send(item)
      await send(item)
      return 'x'
    })
    const tenants = [bottles(), bottles(), bottles(), bottles(), bottles()]
    app.get('/tenants', () => tenants.map((tenant) => tenant.prepare('select count(*) from bottle where id > ?').get(2)))
  }, { profiler: { slowQuery: 60_000 } })
  const findingsAt = async (path: string): Promise<Array<{ kind: string, text: string }>> =>
    (Object((await profileOf(app, await app.inject(path))).collectors.queries) as { findings: Array<{ kind: string, text: string }> }).findings

  for (const n of spellings.keys()) {
    const [first, ...others] = await findingsAt(`/bottles/${n}`)
    const [loop, rows] = ['return all.map((row)', "const all = database.prepare('select id"].map(lineWith)
    t.same(others, [])
    t.match(first, { kind: 'n+1', text: new RegExp(`^N\\+1: .* 9 times from .*${loop} after the 9 rows of .*${rows}, `) }, String(spellings[n]))
  }
  t.match(await findingsAt('/loop'), [{ kind: 'repeated', text: new RegExp(`^\`select .* 6 times from .*${lineWith('const end = recordQuery')}, `) }])
  const [helper] = await findingsAt('/by-helper')
  t.match(helper, { kind: 'repeated', text: new RegExp(` 5 times from .*${lineWith('for (const id of [1, 2, 3, 4, 5]) await anything')}, `) })
  const [again] = await findingsAt('/hook-and-handler')
  t.match(again, { kind: 'duplicates', text: / 2 times from / })
  t.same(await findingsAt('/without-parameters'), [], 'whether they are the same is unknown')
  t.same(await findingsAt('/tenants'), [])
})

inBothProducts('profiler.slowQuery sets from when a query is slow', async (t, build) => {
  for (const [slowQuery, kinds] of [[0, ['slow']], [60_000, []]] as const) {
    const app = await build((app) => { app.get('/', () => findItem(1)) }, { profiler: { slowQuery } })
    const { findings } = (await profileOf(app, await app.inject('/'))).collectors.queries as { findings: Array<{ kind: string }> }
    t.same(findings.map(({ kind }) => kind), kinds, String(slowQuery))
    const { profiles } = await app.hindsight.profiler.search(readSearch({ issues: 'yes' }))
    // A request on a busy machine may have another issue.
    if (kinds.length > 0) t.equal(profiles.length, 1, 'it is found by issues:yes')
  }
})

inBothProducts('hidden, binary and changed parameters are different ones, and a query of an ORM is counted once', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      for (let i = 0; i < 5; i++) await send('select * from invite where token = $1', [`secret-${i}`])
      const id = Buffer.alloc(2)
      for (id[0] = 0; id[0] < 5; id[0]++) await send('select * from item where id = ?', [id], { system: 'mysql' })
      for (const id of [1, 2]) {
        const query = beginQuery({ system: 'postgresql', statement: 'select * from t where id = ?', parameters: [id], isOuter: true })
        await callAsync(query, () => send('select * from t where id = $1', [id], { rows: 7 }), () => undefined)
      }
      return 'x'
    })
  })
  const profile = await profileOf(app, await app.inject('/'))
  t.notMatch(JSON.stringify(profile), /secret-\d/)
  const { count, queries, groups } = profile.collectors.queries as { count: number, queries: RecordedQuery[], groups: QueryGroup[] }
  t.match(groups, [{ kind: 'repeated', count: 5, distinct: 5 }, { kind: 'repeated', count: 5, distinct: 5 }, { kind: null, count: 2, distinct: 2 }])
  t.equal(count, 12)
  t.match(queries.slice(10), [{ statement: 'select * from t where id = ?', rows: 7 }, { rows: 7 }])
})
