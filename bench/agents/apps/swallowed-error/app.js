import Fastify from 'fastify'

export function build (options = {}) {
  const app = Fastify(options)
  const shop = async () => { throw new Error('The shop is closed') }
  app.get('/price', async (request, reply) => {
    const price = await shop().catch(() => null)
    return { price }
  })
  return app
}
