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

async function listen () {
  const app = await start()
  // Requests under way are answered, and their profiles are stored, before the process ends.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close())
  console.log(await app.listen({ port: Number(process.env.PORT ?? 3000) }))
}

if (require.main === module) listen()
