// An application without a line of Hindsight: its databases do not answer, so each query fails.
import Fastify from 'fastify'
import { MongoClient } from 'mongodb'
import pg, { Client, Pool } from 'pg'
import postgres from 'postgres'

// The line with the drivers is printed to terminals.
process.stderr.isTTY = true
class TenantPool extends Pool {}
const place = { host: '127.0.0.1', port: 1, user: 'u', database: 'd' }
const pools = { named: new Pool(place), member: new pg.Pool(place), subclass: new TenantPool(place) }
const sql = postgres({ ...place, max: 1, connect_timeout: 1 })
const facts = [
  Object.values(pools).every((pool) => pool instanceof Pool && pool instanceof pg.Pool), pools.subclass instanceof TenantPool,
  new Client(place) instanceof pg.Client, new MongoClient('mongodb://127.0.0.1:1') instanceof MongoClient, pg.Pool === Pool, typeof postgres.PostgresError,
  Object.hasOwn(new MongoClient('mongodb://127.0.0.1:1'), 'emit')
]
const app = Fastify()
for (const [name, pool] of Object.entries(pools)) app.get(`/${name}`, async () => await pool.query('select label from bottle where id = $1', [7]))
app.get('/postgres', async () => await sql`select label from bottle where id = ${7}`)
const sent = new Map<string, unknown>()
void (async () => {
  await app.listen({ port: 0 })
  for (const name of [...Object.keys(pools), 'postgres']) {
    const origin = app.listeningOrigin
    const response = await fetch(`${origin}/${name}`)
    const profile = await fetch(`${origin}/_profiler/${response.headers.get('x-debug-token')}.json`)
    const { collectors: { queries } } = await profile.json() as { collectors: { queries?: { queries: Array<Record<string, unknown>> } } }
    sent.set(name, queries?.queries.map(({ system, statement, parameters, source }) => [system, statement, parameters, source]))
  }
  console.log(JSON.stringify({ facts, sent: Object.fromEntries(sent) }))
  process.exit()
})()
