import fastifyCookie from '@fastify/cookie'
import fastifyCors from '@fastify/cors'
import fastifyHelmet from '@fastify/helmet'
import fastifySession from '@fastify/session'
import Fastify from 'fastify'
import { addHooks, failing, hello, helloWithLines, logging, ORIGIN, SECRET, type Variants } from './shared.js'

/** What the defaults of production add to each response. */
const HEADERS = [
  ['cache-control', 'no-cache, private'], ['referrer-policy', 'no-referrer, strict-origin-when-cross-origin'], ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY'], ['x-xss-protection', '0'],
  ['content-security-policy', "default-src 'self';base-uri 'self';form-action 'self';frame-ancestors 'none';img-src 'self' data:;object-src 'none';script-src 'self';style-src 'self'"]
] as const

/** Fastify without Hindsight. */
export const variants: Variants = {
  'fastify:bare': async () => hello(Fastify()),
  'fastify:headers': async () => {
    const app = Fastify()
    app.addHook('onSend', (_request, reply, payload, done) => {
      for (const [name, value] of HEADERS) reply.header(name, value)
      done(null, payload)
    })
    return hello(app)
  },
  'fastify:lines': async ({ lines }) => helloWithLines(logging(), lines),
  'fastify:stock': async () => {
    const app = Fastify()
    await app.register(fastifyCors, { origin: [ORIGIN] })
    await app.register(fastifyCookie)
    await app.register(fastifySession, { secret: SECRET, saveUninitialized: false })
    await app.register(fastifyHelmet, { enableCSPNonces: true })
    return hello(app)
  },
  'fastify:failing': async (options) => failing(logging(), options),
  'fastify:routes': async ({ routes = 10 }) => {
    const app = hello(Fastify())
    for (let i = 0; i < routes; i++) app.get(`/section-${i % 10}/page-${i}/:id`, () => ({}))
    return app
  },
  'fastify:hooks': async ({ hooks = 30 }) => {
    const app = Fastify()
    addHooks(app, hooks)
    return hello(app)
  }
}
