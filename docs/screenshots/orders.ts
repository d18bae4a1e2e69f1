import type { FastifyInstance } from 'fastify'

interface Order { id: string, total: string }

const orders = new Map<string, Order>([['1042', { id: '1042', total: 'EUR 99,90' }]])

function parseTotal (order: Order): number {
  const amount = Number(order.total.replace(/^[A-Z]{3} /, ''))
  if (Number.isNaN(amount)) throw new RangeError(`"${order.total}" is not an amount`)
  return amount
}

/** The routes of the pictures: an order whose total cannot be read. */
export default async function routes (app: FastifyInstance): Promise<void> {
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
