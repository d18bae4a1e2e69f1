const Fastify = require('fastify')
const hindsight = require('fastify-hindsight')

async function start () {
  const app = Fastify({ logger: { level: 'warn' } })
  await app.register(hindsight)
  app.get('/', async () => ({ hello: 'world' }))
  app.get('/broken', async () => { throw new Error('This is what a failure looks like') })
  return app
}

module.exports = { start }
if (require.main === module) start().then((app) => app.listen({ port: Number(process.env.PORT ?? 3000) })).then(console.log)
