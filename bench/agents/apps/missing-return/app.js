import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.decorate('paid', 0)
  app.post('/pay', async (request, reply) => {
    if (!request.headers.authorization) reply.code(401).send({ error: 'login' })
    app.paid++
    return { paid: true }
  })
  return app
}
