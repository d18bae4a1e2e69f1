import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.post('/hook', async ({ body }) => body)
  return app
}
