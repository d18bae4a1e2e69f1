import { join } from 'node:path'
import compress from '@fastify/compress'
import cookie from '@fastify/cookie'
import cors from '@fastify/cors'
import etag from '@fastify/etag'
import helmet from '@fastify/helmet'
import session from '@fastify/session'
import serveStatic from '@fastify/static'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import websocket from '@fastify/websocket'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { addHooks } from './hooks.js'
import type { Recorder } from './recorder.js'
import { declareFailures } from './routes/failures.js'
import { declarePages } from './routes/pages.js'
import { declareParts } from './routes/parts.js'
import { declareReplies } from './routes/replies.js'
import { declareSockets } from './routes/sockets.js'
import type { Variant } from './variants.js'

/** An application with the server options of a variant; nothing is declared yet. */
export function create ({ server }: Variant, recorder: Recorder): FastifyInstance {
  const options: FastifyServerOptions = { logger: { level: 'debug', stream: recorder.stream }, pluginTimeout: 60_000, ...server?.(recorder) }
  return Fastify(options) as unknown as FastifyInstance
}

/** Declares the application. Nothing in it depends on Hindsight. */
export async function declare (app: FastifyInstance, variant: Variant, recorder: Recorder): Promise<void> {
  recorder.recordRoutes(app)
  addHooks(app, 'root', recorder)
  declareVariant(app, variant, recorder)
  if (variant.plugins === true) await addPlugins(app, variant, recorder)
  declareReplies(app, recorder)
  declarePages(app)
  declareFailures(app, recorder)
  await declareParts(app, recorder)
  if (variant.plugins === true) {
    declareSockets(app, recorder)
    // A second time, after the `onRoute` hooks of the plugins, which change route objects.
    recorder.recordRoutes(app)
    app.get('/session', async (request) => {
      request.session.set('visits', Number(request.session.get('visits') ?? 0) + 1)
      return { visits: request.session.get('visits'), flavor: request.cookies.flavor }
    })
  }
  if (variant.wildcard === true) app.get('/*', async (request, reply) => { reply.header('x-wildcard', '1'); return { wildcard: request.url } })
}

function declareVariant (app: FastifyInstance, { handlers, authentication, parsesErrors, failingSend, childLoggerFactory }: Variant, recorder: Recorder): void {
  if (authentication === true) {
    app.addHook('onRequest', async function authenticate (request, reply) {
      const { authorization } = request.headers
      if (authorization === undefined) return await reply.code(401).header('www-authenticate', 'Basic').send({ own: 'credentials are required' })
      if (authorization !== 'right') throw Object.assign(new Error('The credentials are wrong'), { statusCode: 403 })
    })
  }
  if (parsesErrors === true) {
    app.addHook('onSend', async function parseErrors (_request, reply, payload) {
      if (reply.statusCode < 400 || !String(reply.getHeader('content-type')).startsWith('application/json')) return payload
      const body = JSON.parse(String(payload)) as { message?: string } | null
      reply.header('x-error', encodeURIComponent(body?.message ?? ''))
      return payload
    })
  }
  if (failingSend !== undefined) {
    app.addHook('onSend', async function failToSend (_request, reply) {
      if (failingSend === 'for successes' && reply.statusCode >= 400) return
      recorder.noteFailure('onSend')
      throw new Error('onSend of the root fails')
    })
  }
  if (childLoggerFactory === true) app.setChildLoggerFactory((logger, bindings, options) => logger.child({ ...bindings, child: true }, options))
  if (handlers === undefined) return
  app.setErrorHandler((error: Error, _request, reply) => {
    if (handlers === 'fail') {
      recorder.noteFailure('the error handler')
      throw new Error('The error handler fails')
    }
    recorder.noteOwn('the error handler')
    return reply.code(reply.statusCode < 400 ? 500 : reply.statusCode).send({ own: String(error?.message) })
  })
  app.setNotFoundHandler(async (request, reply) => {
    recorder.noteOwn('the not-found handler')
    await reply.code(404).header('x-own', '1').send({ own: `nothing at ${request.url}` })
  })
}

async function addPlugins (app: FastifyInstance, variant: Variant, recorder: Recorder): Promise<void> {
  await app.register(cors, { origin: ['https://friend.example'], credentials: true })
  await app.register(cookie)
  await app.register(session, {
    secret: 'a secret of the tests, thirty-two characters', saveUninitialized: false, cookie: { secure: false }, idGenerator: () => recorder.nextIdentifier()
  })
  if (variant.helmet === true) await app.register(helmet)
  await app.register(swagger, { openapi: { info: { title: 'The application', version: '1.0.0' } } })
  await app.register(swaggerUi, { routePrefix: '/docs' })
  await app.register(serveStatic, { root: join(import.meta.dirname, 'public'), prefix: '/static/' })
  await app.register(compress, { threshold: 100 })
  await app.register(etag)
  await app.register(websocket)
}
