import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.get('/page', async () => '<h1>Hello</h1>')
  return app
}
