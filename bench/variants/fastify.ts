import fastifyCookie from '@fastify/cookie'
import fastifyCors from '@fastify/cors'
import fastifyHelmet from '@fastify/helmet'
import fastifySession from '@fastify/session'
import Fastify from 'fastify'
import { hello, ORIGIN, SECRET, type Variants } from './shared.js'

/** The headers that the service sets in production. */
const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer, strict-origin-when-cross-origin',
  'cache-control': 'no-cache, private',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'self';base-uri 'self';form-action 'self';frame-ancestors 'none';" +
    "img-src 'self' data:;object-src 'none';script-src 'self';style-src 'self'",
  'x-xss-protection': '0'
}

/** Fastify without Hindsight. */
export const variants: Variants = {
  'fastify:bare': async () => hello(Fastify()),
  'fastify:stock': async () => {
    const app = Fastify()
    await app.register(fastifyCors, { origin: [ORIGIN] })
    await app.register(fastifyCookie)
    await app.register(fastifySession, { secret: SECRET, saveUninitialized: false })
    await app.register(fastifyHelmet, { enableCSPNonces: true })
    return hello(app)
  },
  // As many hooks as the service has in production; those without a header do nothing.
  'fastify:floor': async () => {
    const app = Fastify()
    for (let i = 0; i < 8; i++) app.addHook('onRequest', (_request, _reply, done) => { done() })
    for (let i = 0; i < 4; i++) app.addHook('preHandler', (_request, _reply, done) => { done() })
    for (let i = 0; i < 9; i++) app.addHook('onSend', (_request, _reply, payload, done) => { done(null, payload) })
    for (const [name, value] of Object.entries(HEADERS)) {
      app.addHook('onSend', (_request, reply, payload, done) => {
        reply.header(name, value)
        done(null, payload)
      })
    }
    return hello(app)
  }
}
