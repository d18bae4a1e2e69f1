import formbody from '@fastify/formbody'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { attemptCall } from '../../call.js'
import { isRetrieval, prefersHtml } from '../../http/requests.js'
import { assets, noticePage } from '../../reading/pages/layout.js'
import { visibleJson } from '../../view/text.js'
import listRoutes from './list.js'
import mcpRoutes from './mcp.js'
import profileRoutes from './profile.js'
import replayRoutes from './replay.js'
import {
  ASSET, baseOf, formatOf, isolateRoutes, NotAvailableError, pagesOf, routeOptions, sendPage, suffixOf
} from './responses.js'

/** Codes of errors that are shown as a page with one sentence. */
const NOTICES = /^HINDSIGHT_(?:TOKEN_NOT_FOUND|NOT_AVAILABLE|NO_PROFILE|BAD_CHOICE|INVALID_PROFILE)$/
const FORM = 'application/x-www-form-urlencoded'
/** Bytes: the form of a request has its body. */
const FORM_LIMIT = 1024 * 1024

/** The profiler's pages: lists of profiles, single profiles, comparisons and replays. */
export default async function profilerRoutes (app: FastifyInstance): Promise<void> {
  isolateRoutes(app)
  app.setReplySerializer((payload) => visibleJson(payload))
  // Errors have the format that the path names, too.
  app.addHook('onRequest', async function readSuffix (request) {
    const suffix = suffixOf(request)
    if (suffix !== undefined) request.headers.accept = suffix === '.md' ? 'text/markdown' : 'application/json'
  })
  // A lifecycle answers errors by its own handler.
  if (app.hindsight.lifecycle === null) app.setErrorHandler<FastifyError>(sendNotice)
  app.get('/assets/:name', routeOptions(app, ASSET), sendAsset)
  // Parsers of the application are replaced.
  if (app.hasContentTypeParser(FORM)) app.removeContentTypeParser(FORM)
  await app.register(formbody, { bodyLimit: FORM_LIMIT })
  for (const routes of [listRoutes, mcpRoutes, profileRoutes, replayRoutes]) await app.register(routes)
  for (const { name, routes } of app.hindsight.parts) {
    if (routes === undefined) continue
    const problem = `The routes of the part "${name}" were not added`
    await app.register(async (scope) => {
      attemptCall(() => routes(scope, pagesOf(scope)), (error) => app.hindsight.warn(problem, error))
    })
  }
}

/** Answers an error: that there is no such profile as a page with one sentence, and a problem of the store. */
async function sendNotice (error: FastifyError, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { code, statusCode = 500, message } = error
  if (statusCode === 503) return await sendStoreError(error, request, reply)
  if (!NOTICES.test(code) || !prefersHtml(request.headers.accept)) throw error
  const title = statusCode === 404 ? 'Not found' : 'Not possible'
  return await sendPage(request, reply.code(statusCode), (options) => noticePage(options, title, message))
}

/** Logs that the store is unavailable, and shows it with the number of lost profiles. */
async function sendStoreError (error: Error, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { message: problem } = error
  const { queue: { counters, lastLoss }, unavailableSince } = request.server.hindsight.profiler
  request.server.log.warn({ err: error, channel: 'profiler' }, 'The store of profiles cannot be used')
  if (formatOf(request, reply.code(503)) !== 'html') {
    const title = 'Service Unavailable'
    const body = { type: 'about:blank', title, status: 503, detail: problem, counters, unavailableSince }
    return reply.type('application/problem+json').send(visibleJson(body))
  }
  const { searchPage } = await import('../../reading/pages/list.js')
  const since = new Date(unavailableSince ?? Date.now()).toISOString().replace('T', ' ').replace(/\..*/, ' UTC')
  // A form cannot be sent again by a link.
  const retry = isRetrieval(request) ? request.url : `${baseOf(request)}/`
  return await sendPage(request, reply, (options) =>
    searchPage({ problem: `${problem} (since ${since})`, counters, lastLoss, retry }, options))
}

async function sendAsset (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { name } = request.params as { name: string }
  const asset = assets.find((asset) => asset.name === name)
  if (asset === undefined) throw new NotAvailableError(`Asset "${name}" was not found: load the page again.`)
  return reply
    // Private: a shared cache would serve it to clients that may not see the profiler.
    .header('cache-control', 'private, max-age=31536000, immutable')
    .type(asset.type)
    .send(asset.content)
}
