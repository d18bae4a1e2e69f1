import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  app.addHook('preHandler', (request, reply, done) => {
    if (request.headers['x-trace']) done()
  })
  app.get('/slow', async () => 'ok')
  return app
}
