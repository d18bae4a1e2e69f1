import type { FastifyInstance } from 'fastify'
import { pathnameOf } from '../../lib/http/request-target.js'
import { keepToItself } from './answer.js'
import assetRoutes from './assets.js'
import compareRoutes from './compare.js'
import cpuRoutes from './cpu.js'
import reportRoutes from './csp-report.js'
import formatRoutes from './formats.js'
import headerRoutes from './headers.js'
import keepRoutes from './keep.js'
import profileRoutes from './profile.js'
import replayRoutes from './replay.js'
import searchRoutes from './search.js'
import streamRoutes from './stream.js'

/** The profiler's own pages, loaded in debug mode only: what is stored, the newest of it, what comes, and one profile. */
export default async function profilerRoutes (app: FastifyInstance): Promise<void> {
  keepToItself(app)
  app.addHook('onRequest', async function keepNothing (request, reply) {
    reply.header('cache-control', 'no-store')
    // Who asks for a form by the path is told of errors in that form too.
    const path = pathnameOf(request)
    if (path.endsWith('.json')) request.headers.accept = 'application/json'
    else if (path.endsWith('.md')) request.headers.accept = 'text/markdown'
  })
  for (const routes of [assetRoutes, searchRoutes, streamRoutes, profileRoutes, compareRoutes, formatRoutes, replayRoutes, keepRoutes, cpuRoutes, headerRoutes, reportRoutes]) await app.register(routes)
}
