import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  let stock = 1
  const cache = new Map()
  app.get('/stock', async () => {
    if (!cache.has('stock')) cache.set('stock', stock)
    return { stock: cache.get('stock') }
  })
  app.put('/stock', async ({ body }) => {
    stock = body.stock
    return { stock }
  })
  return app
}
