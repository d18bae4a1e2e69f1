import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  const defaults = { filters: [] }
  app.get('/search', async ({ query }) => {
    const options = { ...defaults }
    options.filters.push(query.q)
    return options
  })
  return app
}
