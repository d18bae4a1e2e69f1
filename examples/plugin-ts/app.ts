import Fastify, { type FastifyInstance } from 'fastify'
import hindsight, { type ConvertedParams, type HindsightOptions, type RouteAttributes } from 'fastify-hindsight/full'
import { apiKey } from './authenticator.js'
import { looked } from './collector.js'
import { findOrder } from './orders.js'
import { tenant } from './tenant.js'
import { ownOrder } from './voter.js'

const order = {
  name: 'order', params: { order: 'order' }, isGranted: { attribute: 'VIEW', subject: 'order' }
} as const satisfies RouteAttributes & { name: string }

/** The application: the plugin with an authenticator, a voter and a collector of its own, and a hook that runs after its listeners. */
export async function build (options: HindsightOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ logger: { level: 'warn' } })
  const { profiler } = options
  await app.register(hindsight, {
    debug: process.env.NODE_ENV !== 'production',
    session: false,
    converters: { order: findOrder },
    security: {
      providers: { people: { users: [{ identifier: 'ada', roles: ['ROLE_USER'] }, { identifier: 'grace', roles: ['ROLE_USER'] }] } },
      firewalls: [{ name: 'orders', pattern: '/orders', authenticators: { custom: [apiKey] } }],
      accessControl: [{ path: '/orders', roles: 'ROLE_USER' }],
      voters: [ownOrder]
    },
    ...options,
    profiler: { ...(typeof profiler === 'object' ? profiler : {}), collectors: [looked] }
  })
  await app.register(tenant)
  app.get('/', async ({ tenant }) => ({ tenant }))
  app.get<{ Params: ConvertedParams<typeof order> }>('/orders/:order', { config: order }, async (request) => {
    request.looked.push(request.params.order.id)
    return request.params.order
  })
  return app
}
