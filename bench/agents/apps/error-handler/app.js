import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.setErrorHandler((error, request, reply) => reply.code(500).send({ error: error.message }))
  app.get('/articles/:id', async ({ params }) => {
    throw Object.assign(new Error(`No article ${params.id}`), { statusCode: 404 })
  })
  return app
}
