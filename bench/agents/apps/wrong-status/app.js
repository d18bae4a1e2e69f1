import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.post('/users', async ({ body }, reply) => {
    reply.header('location', `/users/${body.name}`)
    return { name: body.name }
  })
  return app
}
