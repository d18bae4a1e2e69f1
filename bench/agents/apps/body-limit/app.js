import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.post('/upload', { bodyLimit: 1024 }, async ({ body }) => ({ size: body.text.length }))
  return app
}
