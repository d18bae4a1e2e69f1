import postgres, { type Sql } from 'postgres'
import t from 'tap'
import { observe } from '../../../src/queries/observe.js'
import { compare, type Program } from '../../queries/compare.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { postgresServer } from '../../support/postgres.js'

const TABLE = 'create table item (id int primary key, name text unique); insert into item values (1, \'one\'), (2, \'two\'), (3, \'three\')'
const system = 'postgresql'

const PROGRAMS: ReadonlyArray<Program<Sql>> = [
  {
    name: 'tagged queries, fragments, helpers, unsafe',
    async run (sql, note) {
      const only = sql`where id > ${1}`
      note(await sql`select ${sql('name')} from item ${only} order by id`)
      note(await sql.unsafe('select name from item where id = $1', [2]))
      note((await sql`select id from item where id in ${sql([1, 2])}`).columns.map(({ name }) => name))
      const [row] = await sql`insert into item ${sql({ id: 4, name: 'four' })} returning *`
      note(row, (await sql`delete from item where id = 4`).count)
      note(await sql`select 1 as x`.values(), await sql`select 1 as x`.raw(), await sql`select 1 as x`.simple())
      note((await sql`select id from item where id = ${1}`.describe()).string)
    },
    queries: [
      { system, statement: 'select "name" from item where id > $1 order by id', parameters: [1], rows: 2 },
      { statement: 'select name from item where id = $1', parameters: [2], rows: 1 },
      { statement: 'select id from item where id in ($1,$2)', parameters: [1, 2], rows: 2 },
      { statement: /^insert into item \("id","name"\)\s*values\s*\(\$1,\$2\) returning \*$/, parameters: [4, 'four'], rows: 1 },
      { rows: 1 }, { statement: 'select 1 as x', rows: 1 }, { rows: 1 }, { rows: 1 }, {}
    ]
  },
  {
    name: 'a query is sent when it is awaited, and once',
    async run (sql, note) {
      sql`select 'never'`
      const query = sql`select 1 as x`
      note(query.constructor.name, query instanceof Promise, Object.keys(query), query)
      note(await query, await query)
      note(await sql`select 2 as x`.execute(), await new Promise((resolve, reject) => { sql`select 3 as x`.then(resolve, reject) }))
      note(await sql`select nothing`.catch(({ code }: { code: string }) => code))
    },
    queries: [{ statement: 'select 1 as x' }, { statement: 'select 2 as x' }, { statement: 'select 3 as x' }, { error: { code: '42703' } }]
  },
  {
    name: 'cursors and forEach',
    async run (sql, note) {
      for await (const rows of sql`select id from item order by id`.cursor(2)) note(rows)
      for await (const rows of sql`select id from item order by id`.cursor(1)) {
        note(rows)
        if (rows.length > 0) break
      }
      await sql`select id from item order by id`.cursor(2, (rows) => { note(rows) })
      note(await sql`select id from item order by id`.forEach((row) => { note(row) }))
    },
    queries: [{}, {}, {}, { rows: 3 }]
  },
  {
    name: 'transactions and savepoints',
    async run (sql, note) {
      note(await sql.begin(async (sql) => {
        await sql`insert into item values (5, 'five')`
        await sql.savepoint(async (sql) => await sql`insert into item values (5, 'five')`).catch(note)
        return await sql`delete from item where id = 5 returning id`
      }))
      await sql.begin('read only', async (sql) => await sql`delete from item`).catch(note)
      note(await sql.begin((sql) => [sql`select 1 as a`, sql`select 2 as b`]))
      await sql.begin(async () => { throw new RangeError('mine') }).catch(note)
    },
    queries: [
      { statement: /^begin/, connection: Object }, { statement: /^insert/, rows: 1 }, { statement: /^insert/, error: { code: '23505' } },
      { statement: 'rollback to savepoint' }, { statement: /^delete/, rows: 1 }, { statement: 'commit' },
      { statement: /^begin read only/, connection: Object }, { error: { code: '25006' } }, { statement: 'rollback' },
      { statement: /^begin/ }, { statement: 'select 1 as a' }, { statement: 'select 2 as b' }, { statement: 'commit' },
      { statement: /^begin/ }, { statement: 'rollback' }
    ]
  },
  {
    name: 'a reserved connection, and one that has ended',
    async run (sql, note) {
      const reserved = await sql.reserve()
      note(await reserved`select 1 as x`, await reserved.unsafe('select 2 as x'))
      reserved.release()
      await sql.end()
      await sql`select 3`.catch(note)
    },
    queries: [{ statement: 'select 1 as x' }, { statement: 'select 2 as x' }, { error: { code: 'CONNECTION_ENDED' } }]
  },
  {
    name: 'errors have the place of the query',
    async run (sql, note) {
      const ask = async (): Promise<unknown> => await sql`select nothing from item`
      await ask().catch(note)
      await ask().catch(note)
      await sql.unsafe('select nothing from item').catch(note)
      await sql`select ${undefined as never}`.catch(note)
    },
    queries: [{ error: { code: '42703' } }, { error: { code: '42703' } }, { error: { code: '42703' } }, { error: { code: 'UNDEFINED_VALUE' } }]
  },
  {
    name: 'how it looks',
    run (sql, note) {
      note(typeof sql, Object.keys(sql), sql.name, sql.length, sql, sql.unsafe.length)
    },
    queries: []
  }
]

t.test('postgres.js', async (t) => {
  const server = await postgresServer(t)
  if (!server) return
  await server.psql(TABLE)
  const close = (sql: Sql): Promise<void> => sql.end()
  await compare(t, () => postgres(server.url, { max: 2 }), close, PROGRAMS)
  const debugged = (): Sql => postgres(server.url, { max: 2, debug () {} })
  await t.test('with its option debug', async (t) => await compare(t, debugged, close, PROGRAMS.filter(({ name }) => /place/.test(name))))

  inBothProducts('the line of a query is where it was made', async (t, build) => {
    const sql = observe(postgres(server.url, { max: 2 }))
    t.teardown(() => sql.end())
    const app = await build((app) => app.get('/', async () => {
      await Promise.all([1, 2].map(async (id) => await sql`select * from item where id = ${id}`))
      await sql.begin(async (sql) => await sql`select 3`)
    }))
    const { collectors } = await profileOf(app, await app.inject('/'))
    const source = /postgres-js\.test\.ts:\d+:\d+$/
    t.match(collectors.queries, {
      count: 5,
      queries: [
        { statement: 'select * from item where id = $1', parameters: [1], source, rows: 1 }, { parameters: [2], source },
        { statement: /^begin/, source }, { statement: 'select 3', source }, { statement: 'commit', source }
      ]
    })
  }, t)
})
