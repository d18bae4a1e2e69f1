import fastifyCookie from '@fastify/cookie'
import fastifyCors from '@fastify/cors'
import fastifyHelmet from '@fastify/helmet'
import fastifySession from '@fastify/session'
import Fastify from 'fastify'
import { hello, ORIGIN, SECRET, type Variants } from './shared.js'

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
  }
}
