import { setTimeout } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import type { FastifyInstance } from 'fastify'
import { observe } from '../../packages/hindsight/src/queries/observe.js'

interface Order { id: string, total: string }

const orders = new Map<string, Order>([['1041', { id: '1041', total: 'EUR 12.50' }], ['1042', { id: '1042', total: 'EUR 99,90' }]])

const HEAD = '<head><meta charset="utf-8"><title>Orders</title></head>'
const PAGE = `<!doctype html><html lang="en">${HEAD}<body><h1>Orders</h1><p>One order is open.</p></body></html>`

const database = observe(new DatabaseSync(':memory:'))
database.exec(`create table basket (id integer primary key, customer text);
create table item (id integer primary key, basket integer, name text, price integer)`)
for (let id = 1; id <= 12; id++) database.prepare('insert into basket values (?, ?)').run(id, `customer ${id}`)
const addItem = database.prepare('insert into item (basket, name, price) values (?, ?, ?)')
// The items of earlier baskets, too: a query reads all.
for (let id = 1; id <= 40_000; id++) addItem.run(id, 'tea', id * 120)

function itemsOf (basket: number): unknown[] {
  return database.prepare('select name, price from item where basket = ?').all(basket)
}

function parseTotal (order: Order): number {
  const amount = Number(order.total.replace(/^[A-Z]{3} /, ''))
  if (Number.isNaN(amount)) throw new RangeError(`"${order.total}" is not an amount`)
  return amount
}

function readCatalogue (): Order[] {
  const all = Array.from({ length: 20_000 }, (_, i) => ({ id: String(i), total: `EUR ${(i * 7919) % 1000}` }))
  return JSON.parse(JSON.stringify(all)) as Order[]
}

function sortByTotal (all: Order[]): Order[] {
  return all.sort((a, b) => parseTotal(a) - parseTotal(b))
}

/**
 * The routes of the pictures: a page of orders, one whose total cannot be read, a report that takes long, and baskets
 * with a query for each.
 */
export default async function routes (app: FastifyInstance): Promise<void> {
  app.addHook('onSend', async function stampVersion (_request, reply) {
    reply.header('x-served-by', 'orders 1.4')
    reply.header('cache-control', 'no-store')
  })
  app.get('/report', { config: { name: 'report' } }, async (_request, reply) => {
    reply.header('cache-control', 'max-age=60')
    return sortByTotal(readCatalogue()).slice(0, 10)
  })
  app.get('/baskets', { config: { name: 'basket_list' } }, async () => {
    const baskets = database.prepare('select id, customer from basket').all() as Array<{ id: number }>
    return baskets.map((basket) => ({ ...basket, items: itemsOf(basket.id) }))
  })
  app.get('/orders', { config: { name: 'order_list' } }, async (request, reply) => {
    request.log.info({ count: orders.size }, 'Reading the orders')
    const rates = await fetch(`${request.protocol}://${request.host}/rates?currency=EUR`)
    await Promise.all([rates.text(), fetch(`${request.protocol}://${request.host}/stock`).then(async (response) => await response.text())])
    return reply.type('text/html').send(PAGE)
  })
  app.get('/rates', { config: { name: 'rates' } }, async () => {
    await setTimeout(12)
    return { EUR: 1 }
  })
  app.get('/stock', { config: { name: 'stock' } }, async (request) => {
    await setTimeout(7)
    request.log.warn('The stock is from yesterday')
    return {}
  })
  app.get('/orders/:id', { config: { name: 'order_show' } }, async (request) => {
    const { id } = request.params as { id: string }
    request.log.info({ id }, 'Loading the order')
    const order = orders.get(id) as Order
    try {
      return { id, total: parseTotal(order) }
    } catch (cause) {
      request.log.warn({ order }, 'The total could not be read')
      throw new Error(`Order ${id} cannot be shown`, { cause })
    }
  })
}
