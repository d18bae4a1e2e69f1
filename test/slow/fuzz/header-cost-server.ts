import Fastify, { type FastifyInstance } from 'fastify'
import { setTimeout as sleep } from 'node:timers/promises'
import { hashPassword } from '../../../lib/security/users.js'
import { serverOptions } from '../../../lib/server-options.js'
import { pluginOf } from '../../../packages/hindsight/test/support/products.js'

// The process whose time is measured: `PRODUCT` and `NODE_ENV` as in an application.
const product = process.env.PRODUCT === 'package' ? 'package' as const : 'service' as const
const logger = { level: 'info', stream: { write () {} } }
const app = Fastify({ ...serverOptions(), logger, pluginTimeout: 60_000 }) as unknown as FastifyInstance
await app.register(pluginOf(product), {
  trustedProxies: ['loopback'],
  profiler: { storage: 'memory', maxProfiles: 50, production: process.env.NODE_ENV !== 'production' },
  ...(product === 'service' && {
    session: { secret: 'a secret of the measurement, 32 letters or more' },
    enabledLocales: ['en', 'fr', 'de', 'pt-BR', 'zh-Hant'],
    acceptLanguage: true,
    debugHosts: ['*'],
    cors: [{
      path: '/cors',
      origin: ['https://example.com', /^https:\/\/[a-z]+\.example\.com$/],
      allowedHeaders: ['x-one', 'x-two'],
      credentials: true
    }],
    security: {
      providers: {
        staff: { users: [{ identifier: 'ann', password: await hashPassword('a password'), roles: ['ROLE_ADMIN'] }] }
      },
      firewalls: [
        { name: 'form', pattern: '/secure', authenticators: { login: { loginPath: '/secure/login' } }, logout: false },
        { name: 'basic', pattern: '/basic', authenticators: { basic: true } },
        { name: 'bearer', pattern: '/bearer', authenticators: { bearer: { verify: () => null } } }
      ],
      accessControl: [{ path: /^\/(?:secure$|basic|bearer)/, roles: ['ROLE_ADMIN'] }]
    }
  })
} as never)
const config = product === 'service'
  ? { pagination: true, cache: { maxAge: 60, etag: () => 'tag', lastModified: () => new Date(0) } }
  : {}
app.get('/page', async (request, reply) => {
  if (product === 'service') request.session.set('visits', 1)
  return reply.type('text/html').send('<!doctype html><html><body><h1>Page</h1></body></html>')
})
app.get('/cached', { config: config as never }, async () => ({ hello: 'world' }))
app.get('/cors', async () => ({ hello: 'world' }))
for (const path of ['/secure', '/secure/login', '/basic', '/bearer']) {
  app.get(path, async () => ({ hello: 'world' }))
}
app.get('/fail', async () => { throw new Error('on purpose') })
app.post('/body', async (request) => ({ type: typeof request.body }))
process.on('message', async () => {
  // What is left to do after the response.
  await sleep(3)
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: (user + system) / 1000 })
})
process.on('disconnect', () => process.exit())
await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.({ port: (app.server.address() as { port: number }).port })
