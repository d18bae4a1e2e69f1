import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.addHook('onRequest', async (request) => { request.greeting = `Hello ${request.user.name}` })
  app.addHook('preHandler', async (request) => { request.user = { name: request.headers['x-user'] } })
  app.post('/orders', async (request) => ({ greeting: request.greeting }))
  return app
}
