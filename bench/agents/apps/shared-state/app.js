import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  let current
  app.get('/me', async (request) => {
    current = request.headers['x-user']
    await new Promise((resolve) => setTimeout(resolve, 5))
    return { name: current }
  })
  return app
}
