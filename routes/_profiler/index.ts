import type { FastifyInstance } from 'fastify'
import { pathnameOf } from '../../plugins/kernel/origin.js'
import { keepToItself } from './answer.js'
import assetRoutes from './assets.js'
import reportRoutes from './csp-report.js'
import headerRoutes from './headers.js'
import keepRoutes from './keep.js'
import profileRoutes from './profile.js'
import searchRoutes from './search.js'
import streamRoutes from './stream.js'

/** The profiler's own pages, loaded in debug mode only: what is stored, the newest of it, what comes, and one profile. */
export default async function profilerRoutes (app: FastifyInstance): Promise<void> {
  keepToItself(app)
  app.addHook('onRequest', async function keepNothing (request, reply) {
    reply.header('cache-control', 'no-store')
    // Who asks for JSON by the path is told of errors in JSON too.
    if (pathnameOf(request).endsWith('.json')) request.headers.accept = 'application/json'
  })
  for (const routes of [assetRoutes, searchRoutes, streamRoutes, profileRoutes, keepRoutes, headerRoutes, reportRoutes]) await app.register(routes)
}
