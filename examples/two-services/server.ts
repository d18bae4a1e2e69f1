import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import hindsight from 'fastify-hindsight'

async function service (declare: (app: FastifyInstance) => void): Promise<FastifyInstance> {
  const app = Fastify({ logger: { level: 'warn' } })
  await app.register(hindsight, { profiler: { callBodies: true } })
  declare(app)
  // Requests under way are answered, and their profiles are stored, before the process ends.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close())
  return app
}

/** The service that the shop calls. */
const stock = await service((app) => {
  app.get('/stock/:article', async (request) => {
    const { article } = request.params as { article: string }
    await sleep(20)
    request.log.warn({ article }, 'nearly sold out')
    return { article, left: 2 }
  })
})
const port = Number(process.env.PORT ?? 3000)
const stockAddress = await stock.listen({ port: port && port + 1 })

const shop = await service((app) => {
  app.get('/', async () => {
    const response = await fetch(`${stockAddress}/stock/chair`)
    return { article: 'chair', stock: await response.json() }
  })
})
process.stdout.write(`${await shop.listen({ port })}\n`)
