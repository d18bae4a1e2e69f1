import type { FastifyInstance } from 'fastify'
import knex from 'knex'
import mysqlCallbacks from 'mysql2'
import mysql from 'mysql2/promise'
import pg from 'pg'
import postgresJs from 'postgres'
import { Sequelize } from 'sequelize'
import t from 'tap'
import { DataSource } from 'typeorm'
import { observe } from '../../../../src/queries.js'
import { explain } from '../../../../src/parts/queries/plan.js'
import type { Run } from '../../../../src/queries/run.js'
import { profileOf } from '../../../support/app.js'
import { mariaServer } from '../../../support/mariadb.js'
import { inBothModes } from '../../../support/products.js'
import { postgresServer } from '../../../support/postgres.js'

const json = { accept: 'application/json' }
const postgres = await postgresServer(t)
if (postgres !== null) {
  await postgres.psql('create table item (id int primary key, owner text, day timestamptz); ' +
    'insert into item select i, i, now() from generate_series(1, 20000) i; analyze item')

  inBothModes('plans of PostgreSQL', async (t, build) => {
    const pool = observe(new pg.Pool({ connectionString: postgres.url, max: 2 }))
    t.teardown(() => pool.end())
    const queries = [
      () => pool.query('select * from item where id = $1', [7]),
      () => pool.query('select * from item where owner = $1 -- by owner\n;', ['7']),
      () => pool.query({ name: 'days', text: 'select count(*) from item where day < $1 and id = any($2)', values: [new Date(), [1, 2]] }),
      () => pool.query("select nextval('pg_catalog.none')").catch(() => {}),
      () => pool.query('select * from missing where id = $1', [1]).catch(() => {}),
      () => pool.query("with old as (delete from item where owner = 'none' returning *) select * from old")
    ]
    const app = await build((app) => app.get('/items', async () => { for (const query of queries) await query(); return 'done' }))
    const { token } = await profileOf(app, await app.inject('/items'))
    const plan = await planner(app, token)
    t.match(await plan(1), { plan: /^Index Scan using item_pkey on item/, sentence: 'The plan has no sequential scan.' })
    const sequential = /^The plan reads all rows of `item` \(sequential scan\)/
    t.match(await plan(2), { plan: /^Seq Scan on item .*\n {2}Filter: \(owner = '7'::text\)/, sentence: sequential })
    t.match(await plan(3), { plan: /Index Cond/, sentence: 'The plan has no sequential scan.' })
    t.same(await plan(4), { plan: null, sentence: 'There is no plan: it has the word `nextval`, which may write or lock.' })
    t.same(await plan(5), { plan: null, sentence: 'There is no plan: the database refused: relation "missing" does not exist.' })
    t.same(await plan(6), { plan: null, sentence: 'There is no plan: it has the word `delete`, which may write or lock.' })
    t.equal(await postgres.psql("select count(*) from pg_stat_activity where state like 'idle in transaction%'"), '0')
    t.same((await pool.query('select 1 as one')).rows, [{ one: 1 }])
  })

  inBothModes('plans of a data source of TypeORM', async (t, build) => {
    const source = await observe(new DataSource({ type: 'postgres', url: postgres.url, extra: { max: 1 } })).initialize()
    t.teardown(() => source.destroy())
    const app = await build((app) => app.get('/items', async () => await source.query('select * from item where id = $1', [7])))
    const plan = await planner(app, (await profileOf(app, await app.inject('/items'))).token)
    t.match(await plan(1), { plan: /^Index Scan using item_pkey on item/, sentence: 'The plan has no sequential scan.' })
    t.equal((await source.query('show transaction_read_only'))[0].transaction_read_only, 'off', 'the connection has left the transaction')
  })

  inBothModes('plans of Knex, Sequelize and postgres.js', async (t, build) => {
    const db = observe(knex({ client: 'pg', connection: postgres.url, pool: { min: 0, max: 1 } }))
    const sequelize = observe(new Sequelize(postgres.url, { logging: false, pool: { max: 1 } }))
    const sql = observe(postgresJs(postgres.url, { max: 1 }))
    t.teardown(() => Promise.all([db.destroy(), sequelize.close(), sql.end()]))
    const app = await build((app) => app.get('/items', async () => {
      await db('item').where({ id: 7, owner: "it's?" })
      await sequelize.query('select * from item where id = :id', { replacements: { id: 7 } })
      await sequelize.query('select * from item where owner = $1', { bind: ['7'] })
      await sql`select * from item where id = ${7}`
      await sql.begin(async (sql) => await sql`select * from item where id = ${7}`)
      await db.raw('select * from item where id = ??', ['missing']).catch(() => {})
    }))
    const { token } = await profileOf(app, await app.inject('/items'))
    const plan = await planner(app, token)
    t.match(await plan(1), { plan: /^Index Scan using item_pkey .*\n {2}Index Cond.*\n {2}Filter: \(owner = 'it''s\?'::text\)/ })
    t.match(await plan(2), { plan: /^Index Scan using item_pkey on item/ })
    t.match(await plan(3), { plan: /^Seq Scan on item/, sentence: /reads all rows of `item`/ })
    t.match(await plan(4), { plan: /^Index Scan using item_pkey on item/ })
    t.match(await plan(6), { plan: /^Index Scan using item_pkey on item/ })
    t.match(await plan(8), { plan: null, sentence: /^There is no plan: the database refused: .*column "missing" does not exist/ })
    t.equal(await postgres.psql("select count(*) from pg_stat_activity where state like 'idle in transaction%'"), '0')
    const show = 'show transaction_read_only'
    const shown = [await db.raw(show), await sequelize.query(show), await sql.unsafe(show)]
    const settings = JSON.stringify(shown).match(/"transaction_read_only":"\w+"/g)
    t.same(settings, Array(3).fill('"transaction_read_only":"off"'), 'the connections are as before')
  })

  inBothModes('a client of one connection, which may be in a transaction, has no plan', async (t, build) => {
    const client = observe(new pg.Client({ connectionString: postgres.url }))
    await client.connect()
    t.teardown(() => client.end())
    const app = await build((app) => app.get('/items', async () => (await client.query('select * from item where id = $1', [7])).rows))
    const plan = await planner(app, (await profileOf(app, await app.inject('/items'))).token)
    t.match(await plan(1), {
      plan: null,
      sentence: /^There is no plan: no client of this process can run .* on a connection of its own, of an observed pool of pg/
    })
  })

  t.test('the transaction is read-only, is rolled back and has a time limit', async (t) => {
    const pool = new pg.Pool({ connectionString: postgres.url })
    t.teardown(() => pool.end())
    let run: Run | undefined
    const { subscribe, unsubscribe } = await import('node:diagnostics_channel')
    const receive = (query: unknown): void => { run = (query as { run?: Run }).run }
    subscribe('fastify-hindsight:query', receive)
    await observe(pool).query('select 1')
    unsubscribe('fastify-hindsight:query', receive)
    // What `explain` runs, with a statement in place of the plan.
    const instead = (statement: string): Run => async (statements) => await run?.([...statements.slice(0, -1), statement]) ?? []
    const explained = { system: 'postgresql', statement: 'select 1' }
    t.match(await explain(explained, instead('delete from item')), { plan: null, sentence: /cannot execute DELETE in a read-only transaction/ })
    t.match(await explain(explained, instead('select pg_sleep(10)')), { plan: null, sentence: /canceling statement due to statement timeout/ })
    t.match(await explain(explained, instead("select set_config('search_path', 'other', false)")), { plan: 'other' })
    t.equal((await pool.query('show search_path')).rows[0].search_path, '"$user", public')
    t.equal(await postgres.psql('select count(*) from item'), '20000')
  })
}

const maria = await mariaServer(t)
if (maria !== null) {
  inBothModes('plans of mysql2, Knex and Sequelize', async (t, build) => {
    const pool = observe(mysql.createPool({ ...maria, connectionLimit: 1 }))
    const callbacks = observe(mysqlCallbacks.createPool({ ...maria, connectionLimit: 1 }))
    const db = observe(knex({ client: 'mysql2', connection: { ...maria }, pool: { min: 0, max: 1 } }))
    const { host, port, user, password, database } = maria
    const sequelize = observe(new Sequelize(database, user, password, { dialect: 'mysql', host, port, logging: false, pool: { max: 1 } }))
    t.teardown(() => Promise.all([
      pool.end(), new Promise<void>((resolve) => callbacks.end(() => resolve())), db.destroy(), sequelize.close()
    ]))
    await pool.query('create table if not exists item (id int primary key, owner text)')
    await pool.query('replace into item values (1, "it\'s?"), (2, 2), (3, 3)')
    await Promise.all([db.raw('select 1'), sequelize.authenticate()])
    const app = await build((app) => app.get('/items', async () => {
      await pool.query('select * from item where id = ?', [1])
      await pool.execute('select * from item where owner = ?', ["it's?"])
      await db('item').where({ id: 1, owner: "it's?" })
      await sequelize.query('select * from item where owner = ?', { replacements: ['7'] })
      await new Promise<void>((resolve) => callbacks.query('select * from item', () => resolve()))
      await pool.query('delete from item where id = ?', [7])
    }))
    const { token } = await profileOf(app, await app.inject('/items'))
    const plan = await planner(app, token)
    const read = /^item: access (?:const|ref), key PRIMARY, about 1 rows/
    const scan = { plan: /^item: access ALL, key none/, sentence: /^The plan reads all rows of `item` \(sequential scan\)/ }
    t.match(await plan(1), { plan: read, sentence: 'The plan has no sequential scan.' })
    t.match(await plan(2), scan)
    t.match(await plan(3), { plan: read, sentence: 'The plan has no sequential scan.' })
    t.match(await plan(4), scan)
    t.match(await plan(5), scan)
    t.match(await plan(6), { plan: null, sentence: /it is no SELECT/ })
    await db('item').where({ id: 3 }).update({ owner: '3' })
    await sequelize.query("update item set owner = '3' where id = 3")
    await pool.query("update item set owner = '3' where id = 3")
  })
}

async function planner (app: FastifyInstance, token: string): Promise<(query: number) => Promise<{ plan: unknown, sentence: unknown }>> {
  const { formToken } = (await app.inject({ url: `/_profiler/${token}/replay`, headers: json })).json() as { formToken: string }
  return async (query) => {
    const payload = new URLSearchParams({ form_token: formToken, query: String(query) }).toString()
    const headers = { ...json, 'content-type': 'application/x-www-form-urlencoded' }
    const { plan, sentence } = (await app.inject({ method: 'POST', url: `/_profiler/${token}/plan`, headers, payload })).json() as Record<string, unknown>
    return { plan, sentence }
  }
}
