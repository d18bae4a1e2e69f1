import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  let tickets = 1
  app.post('/buy', async (request, reply) => {
    if (tickets < 1) return reply.code(409).send({ sold: false })
    await new Promise((resolve) => setTimeout(resolve, 5))
    tickets--
    return { sold: true }
  })
  return app
}
