// What an application may do with pg: its output is the same with and without the preload.
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { inspect, types } from 'node:util'
import Fastify from 'fastify'
import pg, { Client, Pool } from 'pg'
import Cursor from 'pg-cursor'
import QueryStream from 'pg-query-stream'

const require = createRequire(import.meta.url)
const note = (...values) => console.log('|', ...values.map((value) => inspect(value, { depth: 3 }).replaceAll(/(_id_symbol\)\]?: )\d+/g, '$1…')))
const connectionString = process.env.DATABASE_URL

// Its classes and objects.
class Tenant extends Client {
  async who () {
    return (await this.query('select current_user as who')).rows
  }
}
class Tenants extends Pool {
  constructor (options) {
    super({ ...options, Client: Tenant })
  }

  query (...args) {
    this.sent = (this.sent ?? 0) + 1
    return super.query(...args)
  }
}
const tenants = new Tenants({ connectionString, max: 2 })
const pool = new pg.Pool({ connectionString, max: 1, idleTimeoutMillis: 1 })
note(tenants instanceof Tenants, tenants instanceof Pool, tenants instanceof pg.Pool, pool instanceof Pool, pool instanceof Tenants)
note(require('pg').Pool === Pool, pg.Client === Client, Object.keys(pg).sort(), Object.keys(pool), pool.constructor.name, Pool.name, Pool.length)
const selected = pool.query('select 1')
note(types.isProxy(pool), types.isPromise(selected), Object.getPrototypeOf(pool) === Pool.prototype, Pool.prototype.constructor.name)
note(Object.getOwnPropertyNames(Pool), String(Pool) === String(Pool.prototype.constructor), 'Pool' in pg, Object.prototype.toString.call(pg))
try {
  note(typeof pg.native)
} catch ({ code, message }) {
  note(code, message.split('\n')[0])
}
// Only one call of it fails in pg, which remembers the result.
note(pg.native === null)
pg.types.setTypeParser(20, BigInt)

// Events, callbacks, promises, transactions, prepared statements, cursors and streams.
const events = []
for (const name of ['connect', 'acquire', 'release', 'remove']) pool.on(name, (...args) => events.push([name, args.length, args.at(-1)?.constructor?.name]))
// A client of the pool is removed when its server has closed the connection.
let removed = once(pool, 'remove')
await selected
await removed
removed = once(pool, 'remove')
const app = Fastify()
app.get('/', async () => {
  note((await pool.query('select 8::bigint as big')).rows, await new Promise((resolve) => pool.query('select $1::int as n', [2], (error, { rows }) => resolve([error, rows]))))
  const client = await tenants.connect()
  note(client instanceof Tenant, await client.who())
  await client.query('begin')
  for (const id of [1, 2]) await client.query({ name: 'add', text: 'insert into item values ($1)', values: [id] })
  await client.query('insert into item values (1)').catch(({ code, constraint, stack }) => note(code, constraint, stack.split('\n').length))
  note((await client.query('rollback')).command)
  const cursor = client.query(new Cursor('select generate_series(1, 5) as n'))
  note(await cursor.read(2), await cursor.read(9))
  await cursor.close()
  for await (const { n } of client.query(new QueryStream('select generate_series(6, 7) as n'))) note(n)
  client.release()
  note((await tenants.query('select count(*) from item')).rows, tenants.sent)
  await removed
  removed = once(pool, 'remove')
  note(await pool.query('select nothing').catch(({ name, code, position }) => [name, code, position]))
  return 'ok'
})
const { headers } = await app.inject('/')
note(tenants.totalCount, tenants.idleCount)
await Promise.all([removed, pool.end(), tenants.end()])
note(events)
const token = headers['x-debug-token']
const { collectors: { queries } } = (await app.inject(`/_profiler/${token}.json`)).json()
console.log(JSON.stringify(queries?.queries.map(({ statement, rows, source, error }) => [statement, rows, source, error?.code]) ?? []))
process.exit()
