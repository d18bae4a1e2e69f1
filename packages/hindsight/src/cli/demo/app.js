// The application of `fastify-hindsight demo`: five routes, each with a problem. No line belongs to Hindsight.
import { pbkdf2Sync } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'

// Node.js 20 has no SQLite: there, the loop calls a route, and the page says so.
const sqlite = await import('node:sqlite').catch(() => null)
const database = sqlite && new sqlite.DatabaseSync(':memory:')
database?.exec(`
  create table orders (id integer primary key, customer text);
  create table items (order_id integer, name text);
  with recursive n (i) as (select 1 union all select i + 1 from n where i < 20)
    insert into orders select i, 'customer ' || i from n;
  with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000)
    insert into items select i % 20 + 1, 'item ' || i from n;
`)
const text = readFileSync(new URL('page.html', import.meta.url), 'utf8')
const page = database ? text : text.replace('sends a query for each', 'calls another route for each')
const rates = { USD: { sell: 1.09 }, GBP: { sell: 0.86 } }
const account = { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } }
const printer = new EventEmitter()
const app = Fastify()

app.get('/', async (request, reply) => reply.type('text/html').send(page))

// 1. A failure: the client may send a currency in lower case.
app.get('/price', async function convertPrice (request) {
  const { currency } = request.query
  const response = await fetch(`${origin}/rates/${currency}`)
  const { rate } = await response.json()
  return { currency, price: (12.5 * rate.sell).toFixed(2) }
})

app.get('/rates/:currency', async (request, reply) => {
  const rate = rates[request.params.currency]
  return rate ? { rate } : reply.code(404).send({ error: 'unknown currency' })
})

// 2. An N+1: a query for each row of a list.
app.get('/orders', async function listOrders () {
  const orders = database?.prepare('select * from orders').all() ?? Array.from({ length: 20 }, (_, id) => ({ id }))
  for (const order of orders) order.items = await countItems(order)
  return orders
})

async function countItems ({ id }) {
  if (database) return database.prepare('select count(*) as items from items where order_id = ?').get(id).items
  return await (await fetch(`${origin}/items/${id}`)).json()
}

app.get('/items/:id', async () => 1000)

// 3. A loop that blocks all other requests.
app.get('/report', async function makeReport () {
  const lines = []
  for (let day = 1; day <= 30; day++) lines.push(pbkdf2Sync(`day ${day}`, 'salt', 20_000, 32, 'sha512'))
  return { lines: lines.length }
})

// 4. A field that the schema of the response does not have.
app.get('/account', { schema: { response: { 200: account } } }, async () => {
  return { id: 7, name: 'Ada', email: 'ada@shop.example' }
})

// 5. A request that waits for an event that does not come.
app.get('/label', async function printLabel () {
  await once(printer, 'printed')
  return { printed: true }
})

const origin = await app.listen({ port: Number(process.env.PORT) }).catch(() => app.listen({ port: 0 }))
// The failure is compared with it.
await fetch(`${origin}/price?currency=USD`)
console.log(`Demo: ${origin}/ (Ctrl+C ends it)`)
