import fastifyCookie from '@fastify/cookie'
import fastifyCors from '@fastify/cors'
import fastifyHelmet from '@fastify/helmet'
import fastifySession from '@fastify/session'
import Fastify from 'fastify'
import { addHooks, failing, hello, helloWithLines, logging, ORIGIN, SECRET, type Variants } from './shared.js'

/** Fastify without Hindsight. */
export const variants: Variants = {
  'fastify:bare': async () => hello(Fastify()),
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
