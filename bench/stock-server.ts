import fastifyCookie from '@fastify/cookie'
import fastifyCors from '@fastify/cors'
import fastifyHelmet from '@fastify/helmet'
import fastifySession from '@fastify/session'
import Fastify from 'fastify'

// What a start of the service is compared with: the stock plugins and one route, run in the same way.
const app = Fastify({ logger: { level: 'info' } })
await app.register(fastifyCors, { origin: ['https://app.example'] })
await app.register(fastifyCookie)
await app.register(fastifySession, { secret: 'a secret of the benchmark, for nobody else at all', saveUninitialized: false })
await app.register(fastifyHelmet)
app.get('/', () => ({ hello: 'world' }))
await app.listen({ host: '127.0.0.1', port: 0 })
