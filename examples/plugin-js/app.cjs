const Fastify = require('fastify')

async function start () {
  // The package itself can also be had by require(); here it is TypeScript.
  const { hindsight } = await import('fastify-hindsight')
  const app = Fastify({ logger: { level: 'warn' } })
  await app.register(hindsight)
  app.get('/', async () => ({ hello: 'world' }))
  app.get('/broken', async () => { throw new Error('This is what a failure looks like') })
  return app
}

module.exports = { start }
if (require.main === module) start().then((app) => app.listen({ port: Number(process.env.PORT ?? 3000) })).then(console.log)
