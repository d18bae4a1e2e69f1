import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  const body = { type: 'object', required: ['name', 'note'], properties: { name: { type: 'string' }, note: { type: 'string' } } }
  app.post('/items', { schema: { body } }, async (request) => request.body)
  return app
}
