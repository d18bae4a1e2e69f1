import type { FastifyInstance } from 'fastify'
import mysqlCallbacks from 'mysql2'
import mysql from 'mysql2/promise'
import pg from 'pg'
import t from 'tap'
import { observe } from '../../../../src/queries.js'
import { explainStatement } from '../../../../src/parts/queries/plan.js'
import type { Run } from '../../../../src/queries/run.js'
import { profileOf } from '../../../support/app.js'
import { mariaServer } from '../../support/mariadb.js'
import { inBothProducts } from '../../../support/products.js'
import { postgresServer } from '../../../support/postgres.js'

const json = { accept: 'application/json' }
const { setTimeout: start } = globalThis
// On a busy machine a database answers after more than three seconds.
const patient = (call: () => void, milliseconds?: number, ...args: []): NodeJS.Timeout =>
  start(call, milliseconds === 3_000 ? 120_000 : milliseconds, ...args)
t.intercept(globalThis, 'setTimeout', { value: patient })
const postgres = await postgresServer(t)
if (postgres !== null) {
  await postgres.psql('create table item (id int primary key, owner text, day timestamptz); ' +
    'insert into item select i, i, now() from generate_series(1, 20000) i; analyze item')

  inBothProducts('plans of PostgreSQL', async (t, build) => {
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

  inBothProducts('a client of one connection, which may be in a transaction, has no plan', async (t, build) => {
    const client = observe(new pg.Client({ connectionString: postgres.url }))
    await client.connect()
    t.teardown(() => client.end())
    const app = await build((app) => app.get('/items', async () => (await client.query('select * from item where id = $1', [7])).rows))
    const plan = await planner(app, (await profileOf(app, await app.inject('/items'))).token)
    t.match(await plan(1), {
      plan: null,
      sentence: /^There is no plan: no client of this process can run .* on a connection of its own of an observed pool of pg/
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
    t.match(await explainStatement(explained, instead('delete from item')), { plan: null, sentence: /cannot execute DELETE in a read-only transaction/ })
    t.match(await explainStatement(explained, instead('select pg_sleep(10)')), { plan: null, sentence: /canceling statement due to statement timeout/ })
    t.match(await explainStatement(explained, instead("select set_config('search_path', 'other', false)")), { plan: 'other' })
    t.equal((await pool.query('show search_path')).rows[0].search_path, '"$user", public')
    t.equal(await postgres.psql('select count(*) from item'), '20000')
  })
}

const maria = await mariaServer(t)
if (maria !== null) {
  inBothProducts('plans of mysql2', async (t, build) => {
    const pool = observe(mysql.createPool({ ...maria, connectionLimit: 1 }))
    const callbacks = observe(mysqlCallbacks.createPool({ ...maria, connectionLimit: 1 }))
    t.teardown(() => Promise.all([pool.end(), new Promise<void>((resolve) => callbacks.end(() => resolve()))]))
    await pool.query('create table if not exists item (id int primary key, owner text)')
    await pool.query('replace into item values (1, "it\'s?"), (2, 2), (3, 3)')
    const app = await build((app) => app.get('/items', async () => {
      await pool.query('select * from item where id = ?', [1])
      await pool.execute('select * from item where owner = ?', ["it's?"])
      await new Promise<void>((resolve) => callbacks.query('select * from item', () => resolve()))
      await pool.query('delete from item where id = ?', [7])
    }))
    const { token } = await profileOf(app, await app.inject('/items'))
    const plan = await planner(app, token)
    const read = /^item: access (?:const|ref), key PRIMARY, about 1 rows/
    const scan = { plan: /^item: access ALL, key none/, sentence: /^The plan reads all rows of `item` \(sequential scan\)/ }
    t.match(await plan(1), { plan: read, sentence: 'The plan has no sequential scan.' })
    t.match(await plan(2), scan)
    t.match(await plan(3), scan)
    t.match(await plan(4), { plan: null, sentence: /it is no SELECT/ })
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
