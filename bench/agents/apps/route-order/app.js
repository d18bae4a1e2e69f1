import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.get('/users/:id', async ({ params }) => ({ id: params.id }))
  app.get('/Users/me', async () => ({ id: 'current' }))
  return app
}
