import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.get('/page', async ({ query }) => {
    const size = Number.isInteger(query.size) ? query.size : 25
    return Array(size).fill(0)
  })
  return app
}
