import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  const schema = { response: { 200: { type: 'object', properties: { name: { type: 'string' } } } } }
  app.get('/profile', { schema }, async () => ({ name: 'ada', email: 'ada@example.org' }))
  return app
}
