import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  const cache = {}
  app.get('/report', async (request) => {
    const key = request.routeOptions.url
    return (cache[key] ??= { year: request.query.year })
  })
  return app
}
