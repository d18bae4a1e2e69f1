import Fastify, { type FastifyInstance } from 'fastify'
import hindsight, { type HindsightOptions } from 'fastify-hindsight'
import { looked } from './collector.js'
import { tenant } from './tenant.js'

const ORDERS = new Map([['1', { id: '1', total: 12.5 }], ['2', { id: '2', total: 99 }]])

/** The application: the plugin with a collector and a name to mask, and a hook that runs after those of Hindsight. */
export async function build ({ profiler, ...options }: HindsightOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ logger: { level: 'warn' } })
  await app.register(hindsight, {
    mask: ['x-badge'],
    ...options,
    profiler: { ...Object(profiler), collectors: [looked] }
  })
  await app.register(tenant)
  app.get('/', async ({ tenant }) => ({ tenant }))
  app.get<{ Params: { id: string } }>('/orders/:id', async (request, reply) => {
    const order = ORDERS.get(request.params.id)
    if (order === undefined) return reply.callNotFound()
    request.looked.push(order.id)
    return order
  })
  return app
}
