import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.register(async function guard (scope) {
    scope.addHook('onRequest', async (request, reply) => {
      if (!request.headers.authorization) return reply.code(401).send({ error: 'login' })
    })
  })
  app.get('/admin', async () => ({ secret: 1 }))
  return app
}
