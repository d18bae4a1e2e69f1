import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  const db = { count: 0, async query (sql) { db.count++; return sql === 'orders' ? [1, 2, 3, 4].map((id) => ({ id, user: id })) : [{ name: 'ada' }] } }
  app.decorate('database', db)
  app.get('/orders', async () => {
    const orders = await db.query('orders')
    for (const order of orders) order.name = (await db.query(`user ${order.user}`))[0].name
    return orders
  })
  return app
}
