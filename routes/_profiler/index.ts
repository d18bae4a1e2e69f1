import type { FastifyInstance } from 'fastify'
import { ISOLATION } from '../../plugins/profiler/ui/layout/component.js'
import assetRoutes from './assets.js'
import keepRoutes from './keep.js'
import profileRoutes from './profile.js'
import searchRoutes from './search.js'
import streamRoutes from './stream.js'

/** The profiler's own pages, loaded in debug mode only: what is stored, the newest of it, what comes, and one profile. */
export default async function profilerRoutes (app: FastifyInstance): Promise<void> {
  app.addHook('onRequest', async function keepToItself (_request, reply) {
    reply.headers(ISOLATION).header('cache-control', 'no-store')
  })
  for (const routes of [assetRoutes, searchRoutes, streamRoutes, profileRoutes, keepRoutes]) await app.register(routes)
}
