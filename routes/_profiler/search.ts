import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BadCriterionError, readFilter, readSearch, type SearchQuery } from '../../lib/profiler/search-query.js'
import { isInvalidCursor, type ProfilePage } from '../../lib/profiler/storage/storage.js'
import { whileStoreIsThere } from './away.js'
import { baseOf, routeConfig, sendPage, wantsJson, wantsMarkdown } from './answer.js'

const NothingStoredError = createError('HINDSIGHT_NO_PROFILE', 'No %s has been stored yet.', 404)

type Fields = Record<string, unknown>

/** What is stored: all of it or what fits, page by page, and the newest. */
export default async function searchRoutes (app: FastifyInstance): Promise<void> {
  // The address without the slash is redirected like that of any other route.
  app.get('/', { prefixTrailingSlash: 'slash', config: routeConfig(app, '_profiler_home') }, async (request, reply) => await whileStoreIsThere(request, reply, () => showProfiles(request, reply)))
  app.get('/search', { config: routeConfig(app, '_profiler_search') }, async (request, reply) => await whileStoreIsThere(request, reply, () => showProfiles(request, reply)))
  app.get('/search.json', { config: routeConfig(app, '_profiler_search_json') }, async (request, reply) => await whileStoreIsThere(request, reply, () => found(request, readSearch(request.query as Fields))))
  for (const suffix of ['', '.json', '.md']) {
    app.get(`/latest${suffix}`, { config: routeConfig(app, '_profiler_latest') }, async function redirectToLatest (request, reply) {
      return await whileStoreIsThere(request, reply, () => latest(request, reply, suffix))
    })
  }
}

async function latest (request: FastifyRequest, reply: FastifyReply, suffix: string): Promise<unknown> {
  const criteria = readFilter(request.query as Fields)
  const newest = await request.server.hindsight.profiler.latest(criteria)
  if (newest === undefined) {
    const { error, ...others } = criteria
    throw new NothingStoredError(`${error === true ? 'failure' : 'profile'}${Object.keys(others).length === 0 ? '' : ' that fits'}`)
  }
  // Not every client sends the same `Accept` again where it is led to.
  const form = suffix === '' && wantsMarkdown(request, reply) ? '.md' : suffix
  return reply.redirect(`${baseOf(request)}/${newest.token}${form}`, 302)
}

async function showProfiles (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const fields = request.query as Fields
  if (wantsJson(request, reply)) return await found(request, readSearch(fields))
  const { searchPage } = await import('../../lib/profiler/pages/list.js')
  try {
    const search = readSearch(fields)
    const { profiles, next } = await found(request, search)
    const stats = await request.server.hindsight.profiler.stats()
    const { counters, lastLoss } = request.server.hindsight.profiler
    return await sendPage(request, reply, (options) => searchPage({ fields: textsOf(fields), profiles, next, stats, counters, lastLoss, now: Date.now() }, options))
  } catch (error) {
    if (!(error instanceof BadCriterionError || isInvalidCursor(error))) throw error
    reply.code(400)
    return await sendPage(request, reply, (options) => searchPage({ fields: textsOf(fields), problem: error.message, profiles: [], next: null, now: Date.now() }, options))
  }
}

async function found ({ server }: FastifyRequest, search: SearchQuery): Promise<Pick<ProfilePage, 'profiles' | 'next'>> {
  const { profiles, next } = await server.hindsight.profiler.search(search)
  return { profiles, next }
}

function textsOf (fields: Fields): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(Array.isArray(value) ? value.at(-1) : value)]))
}
