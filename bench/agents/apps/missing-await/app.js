import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  const prices = async () => [1, 2, 3]
  const sum = async () => (await prices()).reduce((a, b) => a + b, 0)
  app.get('/total', async () => ({ total: sum() }))
  return app
}
