import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { pathnameOf } from '../../lib/http/request-target.js'
import { escapeMarkdown } from '../../lib/view/markdown.js'
import { keepToItself, routeConfig, sendMarkdown, sendPage, wantsJson, wantsMarkdown } from './answer.js'
import cpuRoutes from './cpu.js'
import reportRoutes from './csp-report.js'
import listRoutes from './list.js'
import profileRoutes from './profile.js'
import replayRoutes from './replay.js'

const AssetNotFoundError =
  createError('HINDSIGHT_ASSET_NOT_FOUND', 'Asset "%s" was not found: load the page again.', 404)

/** The profiler's pages: lists of profiles, single profiles, and what can be done with them. */
export default async function profilerRoutes (app: FastifyInstance): Promise<void> {
  keepToItself(app)
  app.addHook('onRequest', async function forbidStoring (request, reply) {
    reply.header('cache-control', 'no-store')
    // Errors have the format that the path names.
    const path = pathnameOf(request)
    if (path.endsWith('.json')) request.headers.accept = 'application/json'
    else if (path.endsWith('.md')) request.headers.accept = 'text/markdown'
  })
  app.setErrorHandler(async (error, request, reply) => {
    if (!isStoreError(error)) throw error
    return await sendStoreError(error, request, reply)
  })
  app.get('/assets/:name', { config: routeConfig(app, '_profiler_asset') }, sendAsset)
  for (const routes of [listRoutes, profileRoutes, replayRoutes, cpuRoutes, reportRoutes]) await app.register(routes)
}

function isStoreError (error: unknown): error is Error {
  return error instanceof Error && 'statusCode' in error && error.statusCode === 503
}

/** Shows that the store is unavailable and how many profiles were lost, also to operators. */
async function sendStoreError (error: Error, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { message: problem } = error
  const { counters, lastLoss } = request.server.hindsight.profiler
  request.log.warn({ err: error, channel: 'profiler' }, 'The store of profiles cannot be used')
  reply.code(503)
  if (wantsJson(request, reply)) {
    const body = { type: 'about:blank', title: 'Service Unavailable', status: 503, detail: problem, counters }
    return reply.type('application/problem+json').send(JSON.stringify(body))
  }
  if (wantsMarkdown(request, reply)) {
    return sendMarkdown(reply, `# 503 Service Unavailable\n\n${escapeMarkdown(problem)}\n`)
  }
  const { searchPage } = await import('../../lib/profiler/pages/list.js')
  const view = { fields: {}, problem, counters, lastLoss, profiles: [], next: null, now: Date.now() }
  return await sendPage(request, reply, (options) => searchPage(view, options))
}

/** Sends a stylesheet or a script of the toolbar or of the pages. */
async function sendAsset (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { name } = request.params as { name: string }
  const { findAsset } = await import('../../lib/profiler/pages/assets.js')
  const asset = findAsset(name)
  if (asset === undefined) throw new AssetNotFoundError(name)
  return reply
    // Private: a shared cache would serve it to clients that may not see the profiler.
    .header('cache-control', 'private, max-age=31536000, immutable')
    .header('x-content-type-options', 'nosniff')
    .type(asset.type)
    .send(asset.content)
}
