import { readFileSync } from 'node:fs'
import 'reflect-metadata'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable } from 'drizzle-orm/pg-core'
import knex, { type Knex } from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { DataTypes, Sequelize } from 'sequelize'
import t, { type Test } from 'tap'
import { DataSource, EntitySchema } from 'typeorm'
import { observe } from '../../../src/queries/observe.js'
import { compare, type Program } from '../../queries/compare.js'
import { profileOf } from '../../support/app.js'
import { mariaServer } from '../support/mariadb.js'
import { inBothProducts } from '../../support/products.js'
import { postgresServer } from '../../support/postgres.js'

const TABLE = 'create table item (id int primary key, name text unique); insert into item values (1, \'one\'), (2, \'two\'), (3, \'three\')'
const SOURCE = /orms\.test\.ts:\d+:\d+$/
const system = 'postgresql'

async function url (t: Test): Promise<string | null> {
  const server = await postgresServer(t)
  await server?.psql(TABLE)
  return server?.url ?? null
}

const KNEX: ReadonlyArray<Program<Knex>> = [
  {
    name: 'builders, raw queries and failures',
    async run (knex, note) {
      note(await knex('item').where('id', '>', 1).orderBy('id'), await knex.raw('select ? as x', [7]))
      note(await knex('item').where({ id: 3 }).update({ name: 'drei' }), await knex('item').first('name').where({ id: 3 }))
      await knex('item').insert({ id: 1 }).catch(note)
      await knex('nowhere').catch(note)
      note(knex.eventNames(), knex.listenerCount('query'), knex('item').where('id', 1).toString())
      const events: string[] = []
      knex.on('query', ({ sql }: { sql: string }) => events.push(sql))
      await knex('item').where({ id: 3 }).update({ name: 'three' })
      note(events)
    },
    queries: [
      { system, statement: 'select * from "item" where "id" > $1 order by "id" asc', parameters: [1], rows: 2 },
      { parameters: [7], rows: 1 }, { statement: /^update/, rows: 1 }, { statement: /^select "name"/ },
      { error: { code: '23505' } }, { error: { code: '42P01' } }, { statement: /^update/, rows: 1 }
    ]
  },
  {
    name: 'transactions, and parameters of the user',
    async run (knex, note) {
      note(await knex.transaction(async (trx) => {
        await trx('item').insert({ id: 4, name: 'four' })
        return await trx('item').where({ id: 4 }).delete()
      }))
      await knex.transaction(async (trx) => {
        await trx('item').delete()
        await trx('item').insert({ id: null })
      }).catch(note)
      note(await knex.withUserParams({ a: 1 })('item').count())
      await knex.transaction(async (trx) => {
        await trx.transaction(async (inner) => await inner('item').where({ id: 1 }))
        await trx('item').where({ id: 2 })
      })
      note(await knex.schema.hasTable('item'))
    },
    queries: [
      { statement: 'BEGIN;' }, { statement: /^insert/, rows: 1 }, { statement: /^delete/, rows: 1 }, { statement: 'COMMIT;' },
      { statement: 'BEGIN;' }, { statement: /^delete/, rows: 3 }, { error: { code: '23502' } }, { statement: 'ROLLBACK' }, { rows: 1 },
      { statement: 'BEGIN;' }, { statement: /^SAVEPOINT/ }, { rows: 1 }, { statement: /^RELEASE/ }, { rows: 1 }, { statement: 'COMMIT;' },
      { statement: /information_schema/ }
    ]
  },
  { name: 'how it looks', run: (knex, note) => note(typeof knex, Object.keys(knex).sort(), knex.name, knex.client.constructor.name), queries: [] }
]

t.test('knex', async (t) => {
  const connection = await url(t)
  if (connection === null) return
  await compare(t, () => knex({ client: 'pg', connection, pool: { min: 0, max: 2 } }), (knex) => knex.destroy(), KNEX)
})

const Item = new EntitySchema<{ id: number, name: string }>({
  name: 'Item', tableName: 'item', columns: { id: { type: 'int', primary: true }, name: { type: 'text', nullable: true } }
})

const TYPEORM: ReadonlyArray<Program<DataSource>> = [{
  name: 'repositories, builders, raw queries, transactions and failures',
  async run (source, note) {
    const items = source.getRepository(Item)
    note(await items.findBy({ id: 2 }), await items.update({ id: 2 }, { name: 'zwei' }), await items.count())
    note(await source.query('select $1::int as x', [4]), await items.createQueryBuilder('i').where('i.id > :id', { id: 1 }).getMany())
    note(await source.transaction(async (manager) => await manager.save(Item, { id: 9, name: 'nine' })))
    await source.transaction(async (manager) => await manager.query('insert into item values (null)')).catch(note)
    await items.insert({ id: 1 }).catch(note)
    note(await items.delete({ id: 9 }), await items.update({ id: 2 }, { name: 'two' }))
    note(source instanceof DataSource, Object.keys(source).sort(), source.subscribers.length)
    const runner = source.createQueryRunner()
    await runner.release()
    await runner.query('select 1').catch(note)
  },
  queries: [
    { system, statement: /^SELECT/, parameters: [2], rows: 1 }, { statement: /^UPDATE/, rows: 1 }, { statement: /^SELECT COUNT/ },
    { parameters: [4], rows: 1 }, { statement: /^SELECT/, rows: 2 },
    { statement: 'START TRANSACTION' }, { statement: /^SELECT/ }, { statement: /^INSERT/ }, { statement: 'COMMIT' },
    { statement: 'START TRANSACTION' }, { error: { code: '23502' } }, { statement: 'ROLLBACK' },
    { error: { code: '23505' } }, { statement: /^DELETE/, rows: 1 }, { statement: /^UPDATE/, rows: 1 }, { error: Error }
  ]
}, {
  name: 'streams that are read, left early, and that fail',
  async run (source, note) {
    const stream = async (where: string): Promise<AsyncIterable<unknown>> => await source.createQueryBuilder(Item, 'i').where(where).stream()
    for await (const row of await stream('i.id > 1')) note(row)
    const left = (await stream('i.id > 0'))[Symbol.asyncIterator]()
    note(await left.next(), await left.return?.())
    try {
      for await (const row of await stream('1 / i.id < i.nam')) note(row)
    } catch (error) { note(String(error)) }
  },
  queries: [{ statement: /^SELECT .*"id" > 1$/, error: undefined }, { statement: /"id" > 0$/ }, { error: { code: '42703' } }]
}]

t.test('TypeORM', async (t) => {
  const connection = await url(t)
  if (connection === null) return
  const open = async (): Promise<DataSource> => await new DataSource({ type: 'postgres', url: connection, entities: [Item] }).initialize()
  await compare(t, open, (source) => source.destroy(), TYPEORM)

  inBothProducts('observed before it is initialized', async (t, build) => {
    const source = observe(new DataSource({ type: 'postgres', url: connection, entities: [Item] }))
    await source.initialize()
    t.teardown(() => source.destroy())
    const app = await build((app) => app.get('/', async () => await source.getRepository(Item).findOneBy({ id: 1 })))
    const { collectors } = await profileOf(app, await app.inject('/'))
    t.match(collectors.queries, { count: 1, queries: [{ statement: /^SELECT/, source: SOURCE, rows: 1, wait: Number }] })
  }, t)
})

const SEQUELIZE: ReadonlyArray<Program<Sequelize>> = [{
  name: 'models, raw queries, transactions and failures',
  async run (sequelize, note) {
    const Item = sequelize.define('Item', {
      id: { type: DataTypes.INTEGER, primaryKey: true }, name: DataTypes.TEXT
    }, { tableName: 'item', timestamps: false })
    note((await Item.findAll({ where: { id: 2 } })).map((item) => item.toJSON()), await Item.count())
    note(await Item.update({ name: 'zwei' }, { where: { id: 2 } }), await Item.update({ name: 'two' }, { where: { id: 2 } }))
    note(await sequelize.query('select $1::int as x', { bind: [4] }), (await Item.findByPk(2))?.toJSON(), await Item.findByPk(77))
    note((await Item.create({ id: 5, name: 'five' })).toJSON(), await Item.increment('id', { by: 1, where: { id: 5 } }))
    note(await Item.destroy({ where: { id: 6 } }))
    await sequelize.transaction(async (transaction) => await Item.create({ id: 1 }, { transaction })).catch(note)
    await sequelize.query('select nothing').catch(note)
    await sequelize.query(undefined as never).catch(note)
    note(sequelize instanceof Sequelize, Object.keys(sequelize).sort(), sequelize.query.name)
  },
  queries: [
    { system, statement: /^SELECT .* WHERE "Item"\."id" = 2;/, rows: 1, wait: Number }, { statement: /^SELECT count/, rows: 1 },
    { statement: /^UPDATE/, parameters: ['zwei', 2], rows: 1 }, { statement: /^UPDATE/, rows: 1 }, { parameters: [4], rows: 1 },
    { statement: /^SELECT/, rows: 1 }, { statement: /^SELECT/, rows: 0 },
    { statement: /^INSERT/, parameters: [5, 'five'], rows: 1 }, { statement: /^UPDATE/, rows: 1 }, { statement: /^DELETE/, rows: 1 },
    { statement: 'START TRANSACTION;', wait: undefined }, { statement: /^INSERT/, error: { message: /Validation error/ } }, { statement: 'ROLLBACK;' },
    { statement: 'select nothing', error: Error }
  ]
}]

t.test('Sequelize', async (t) => {
  const connection = await url(t)
  if (connection === null) return
  const open = (): Sequelize => new Sequelize(connection, { logging: false })
  await compare(t, open, (sequelize) => sequelize.close(), SEQUELIZE)

  inBothProducts('its errors are those of the database', async (t, build) => {
    const sequelize = observe(open())
    t.teardown(() => sequelize.close())
    const app = await build((app) => app.get('/', async () => {
      await sequelize.query('insert into item (id) values (1)').catch(() => {})
      await sequelize.query('\n  select * from item where nam = 1').catch(() => {})
      await sequelize.query('select :a, nam from item', { replacements: { a: 'a long text' } }).catch(() => {})
    }))
    const { collectors } = await profileOf(app, await app.inject('/'))
    t.match(collectors.queries, {
      queries: [
        { error: { message: /^duplicate key/, code: '23505', table: 'item', constraint: 'item_pkey' } },
        { statement: 'select * from item where nam = 1', error: { position: 26 } },
        { error: { code: '42703', position: undefined } }
      ]
    })
  }, t)
})

inBothProducts('the caller of a query of an ORM', async (t, build) => {
  const connection = await url(t)
  if (connection === null) return
  const instance = observe(knex({ client: 'pg', connection, pool: { min: 0, max: 2 } }))
  const sequelize = observe(new Sequelize(connection, { logging: false }))
  const Item = sequelize.define('Item', { id: { type: DataTypes.INTEGER, primaryKey: true } }, { tableName: 'item', timestamps: false })
  const kysely = new Kysely<{ item: { id: number } }>({ dialect: new PostgresDialect({ pool: observe(new pg.Pool({ connectionString: connection })) }) })
  const pool = observe(new pg.Pool({ connectionString: connection }))
  const drizzled = drizzle({ client: pool })
  const items = pgTable('item', { id: integer() })
  t.teardown(() => Promise.all([instance.destroy(), sequelize.close(), kysely.destroy(), pool.end()]))
  const app = await build((app) => app.get('/', async () => {
    await instance('item').where('id', 1)
    await instance.transaction(async (trx) => {
      await pool.query('select 2')
      await trx('item').where('id', 2)
    })
    await Item.findAll()
    await kysely.selectFrom('item').selectAll().where('id', '=', 4).execute()
    await drizzled.select().from(items).where(eq(items.id, 5))
    await drizzled.transaction(async (tx) => await tx.select().from(items))
    await kysely.transaction().execute(async (trx) => await trx.selectFrom('item').selectAll().execute())
  }))
  const { collectors } = await profileOf(app, await app.inject('/'))
  const { queries } = collectors.queries as { queries: Array<{ statement: string, source: string | null, rows: number }> }
  const seen = queries.map(({ statement, source }) => `${statement.slice(0, 6)} ${/orms\.test\.ts:\d+/.exec(String(source))?.[0]}`)
  t.match(seen, [
    /^select orms/, /^BEGIN; orms/, /^select orms/, /^select orms/, /^COMMIT /, /^SELECT orms/, /^select orms/,
    /^select orms/, /^begin orms/, /^select orms/, /^commit orms/, /^begin orms/, /^select orms/, /^commit orms/
  ], seen.join(', '))
})

inBothProducts('a query that a handler or a repository has returned without awaiting it', async (t, build) => {
  const connection = await url(t)
  if (connection === null) return
  const instance = knex({ client: 'pg', connection, pool: { min: 0, max: 2 } })
  const pool = observe(new pg.Pool({ connectionString: connection }))
  const drizzled = drizzle({ client: pool })
  const items = pgTable('item', { id: integer() })
  observe(instance)
  t.teardown(() => Promise.all([instance.destroy(), pool.end()]))
  const listItems = async (): Promise<unknown[]> => drizzled.select().from(items)
  const app = await build((app) => {
    app.get('/knex', async () => instance('item').where('id', 1))
    app.get('/drizzle', async () => drizzled.select().from(items).where(eq(items.id, 1)))
    app.get('/repository', async () => {
      const rows = await listItems() // repository
      return rows
    })
  })
  const queryAt = async (path: string): Promise<unknown> => {
    const { collectors } = await profileOf(app, await app.inject(path))
    return (collectors.queries as { queries: unknown[] }).queries.at(-1)
  }
  for (const path of ['/knex', '/drizzle']) {
    t.match(await queryAt(path), { source: null, sender: new RegExp(`^the handler of GET ${path} \\(.*orms\\.test\\.ts:\\d+\\)$`) })
  }
  const line = readFileSync(import.meta.filename, 'utf8').split('\n').findIndex((text) => text.endsWith('// repository')) + 1
  t.match(await queryAt('/repository'), { source: new RegExp(`orms\\.test\\.ts:${line}:\\d+$`), sender: undefined }, 'the line that awaits it')
})

t.test('drivers with channels: a query of an ORM is recorded once', async (t) => {
  const server = await mariaServer(t)
  if (!server) return
  const { port, host, user, password, database } = server
  inBothProducts('knex and TypeORM with mysql2', async (t, build) => {
    const instance = observe(knex({ client: 'mysql2', connection: { port, host, user, password, database } }))
    const source = observe(new DataSource({ type: 'mysql', port, host, username: user, password, database }))
    const sequelize = observe(new Sequelize(database, user, password, { dialect: 'mysql', host, port, logging: false }))
    await Promise.all([1, 2, 3].map(async (n) => await instance.raw('select ?', [n])))
    await source.initialize()
    await sequelize.authenticate()
    t.teardown(() => Promise.all([instance.destroy(), source.destroy(), sequelize.close()]))
    const app = await build((app) => app.get('/', async () => {
      await Promise.all([1, 2, 3].map(async (n) => await instance.raw('select ? as n', [n])))
      await source.query('select ? as n', [4])
      for await (const row of await source.createQueryRunner().stream('select 7 as n')) t.same(row, { n: 7 })
      await sequelize.query('select 5 as n')
      await sequelize.query('select $1 as n', { bind: [6] })
    }))
    const { collectors } = await profileOf(app, await app.inject('/'))
    t.match(collectors.queries, {
      count: 7,
      queries: [
        { system: 'mysql', parameters: [1], source: SOURCE, rows: 1 }, { parameters: [2] }, { parameters: [3] }, { parameters: [4], source: SOURCE },
        { statement: 'select 7 as n', source: SOURCE },
        { statement: 'select 5 as n', source: SOURCE }, { statement: 'select $1 as n', parameters: [6], source: SOURCE }
      ]
    })
  }, t)
})
