import { Readable } from 'node:stream'
import createError from '@fastify/error'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { attemptCall } from '../../call.js'
import { failureGroups, type FailureGroups } from '../../store/failure-groups.js'
import { followProfiles, type FollowOptions } from '../../store/follow.js'
import { criteriaOf, MAX_LIMIT, readSearch, type SearchQuery } from '../../store/search-query.js'
import type { ProfilePage } from '../../store/storage.js'
import { visibleJson, type HtmlValue } from '../../view/text.js'
import {
  BadFieldError, baseOf, formatOf, formTokenOf, routeOptions, sendPage, suffixOf, type Fields
} from './responses.js'

const NothingStoredError = createError('HINDSIGHT_NO_PROFILE', 'No %s has been stored yet.', 404)
const TooManyFollowersError =
  createError('HINDSIGHT_TOO_MANY_FOLLOWERS', 'At most %s clients may follow the stream at once.', 503)

const MAX_FOLLOWERS = 50
/** Milliseconds between two events, or comments, of a stream. */
const HEARTBEAT = 1_000

/** Lists of profiles: the newest, pages of a search, and the stream of new ones. */
export default async function listRoutes (app: FastifyInstance): Promise<void> {
  // `/_profiler` is redirected, as in the observed service.
  app.get('/', { prefixTrailingSlash: 'slash', ...routeOptions(app, '_profiler_home') }, showProfiles)
  app.get('/search', routeOptions(app, '_profiler_search'), showProfiles)
  app.get('/search.json', routeOptions(app, '_profiler_search_json'), showProfiles)
  for (const suffix of ['', '.json', '.md']) {
    app.get(`/latest${suffix}`, routeOptions(app, '_profiler_latest'), redirectToLatest)
  }
  addStream(app)
}

async function redirectToLatest (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { panel, part, ...fields } = request.query as Fields
  const { criteria } = searchOf(request, fields)
  const latest = await request.server.hindsight.profiler.latest(criteria)
  if (latest === undefined) {
    const { error, ...others } = criteria
    const kind = error === true ? 'failure' : 'profile'
    throw new NothingStoredError(Object.keys(others).length === 0 ? kind : `matching ${kind}`)
  }
  // Some clients send another `Accept` to the target of a redirect.
  let suffix = suffixOf(request)
  if (suffix === undefined && formatOf(request, reply) === 'markdown') suffix = '.md'
  const shown = new URLSearchParams()
  for (const [name, value] of Object.entries({ panel, part })) if (typeof value === 'string') shown.set(name, value)
  let address = `${baseOf(request)}/${latest.token}${suffix ?? ''}`
  if (shown.size > 0) address += `?${shown}`
  return reply.redirect(address, 302)
}

async function showProfiles (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  if (formatOf(request, reply) === 'json') return await groupsOf(request) ?? await search(request)
  const { searchPage } = await import('../../reading/pages/list.js')
  const fields = Object.fromEntries(Object.entries(request.query as Fields)
    .map(([name, value]) => [name, String(Array.isArray(value) ? value.at(-1) : value)]))
  try {
    const failures = await groupsOf(request)
    const page = failures === undefined ? await search(request) : {}
    const { profiler, parts, recorder } = request.server.hindsight
    const { counters, lastLoss } = profiler.queue
    const { criteria } = searchOf(request)
    const stats = await profiler.stats()
    // Criteria are those of profiles.
    const isNewest = Object.keys(criteria).length === 0 && fields.cursor === undefined
    const waiting = isNewest ? recorder?.waiting() ?? [] : []
    const view = { base: baseOf(request), formToken: await formTokenOf(request) }
    const above = isNewest && parts.map((part) => attemptCall(() => part.aboveList?.(view, waiting.length)))
    const routes = await routesMarkup(request, stats.profiles === 0)
    const found = { ...page, failures, fields, criteria, added: criteriaOf(parts), routes }
    const state = { stats, counters, lastLoss, waiting, above }
    return await sendPage(request, reply, (options) => searchPage({ ...found, ...state }, options))
  } catch (error) {
    const { statusCode, message } = error as FastifyError
    if (statusCode !== 400) throw error
    return await sendPage(request, reply.code(400), (options) => searchPage({ fields, problem: message }, options))
  }
}

async function search (request: FastifyRequest): Promise<Pick<ProfilePage, 'profiles' | 'next'>> {
  const { profiles, next } = await request.server.hindsight.profiler.search(searchOf(request))
  return { profiles, next }
}

/** The routes of the application for a list without profiles. */
async function routesMarkup (request: FastifyRequest, isEmpty: boolean): Promise<HtmlValue> {
  const { hindsight } = request.server
  if (!hindsight.debug || !isEmpty) return null
  const { routesOf, routesTable } = await import('../../reading/pages/routes.js')
  return routesTable(await routesOf(hindsight), hindsight.editor, baseOf(request))
}

/** The groups of `group=failures`; undefined for a list of profiles. */
async function groupsOf (request: FastifyRequest): Promise<FailureGroups | undefined> {
  const { group } = request.query as Fields
  if (group === undefined || group === '') return undefined
  if (group !== 'failures') throw new BadFieldError('group', 'only failures are grouped: group=failures')
  return await failureGroups(request.server.hindsight.profiler, searchOf(request).criteria)
}

function searchOf (request: FastifyRequest, { group: _, ...fields } = request.query as Fields): SearchQuery {
  return readSearch(fields, MAX_LIMIT, criteriaOf(request.server.hindsight.parts))
}

function addStream (app: FastifyInstance): void {
  const followers = new Set<AbortController>()
  app.addHook('preClose', async function endStreams () {
    for (const follower of followers) follower.abort()
  })
  app.get('/stream', routeOptions(app, '_profiler_stream'), async function streamProfiles (request, reply) {
    const { profiler } = app.hindsight
    const { criteria } = searchOf(request)
    if (followers.size >= MAX_FOLLOWERS) throw new TooManyFollowersError(MAX_FOLLOWERS)
    const follower = new AbortController()
    followers.add(follower)
    // Also where the store fails.
    reply.raw.once('close', () => {
      follower.abort()
      followers.delete(follower)
    })
    const after = (await profiler.search({ limit: 1 })).head
    // The connection must not delay the end of the process. HTTP/2 has no such header (RFC 9113, section 8.2.2).
    if (request.raw.httpVersionMajor === 1) reply.header('connection', 'close')
    // Proxies must not buffer the events.
    return reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no')
      .send(Readable.from(eventsOf(app.hindsight, { criteria, after, signal: follower.signal })))
  })
}

async function * eventsOf (
  { profiler, recorder }: Pick<FastifyInstance['hindsight'], 'profiler' | 'recorder'>, options: FollowOptions
): AsyncGenerator<string> {
  let shown = ''
  yield 'retry: 2000\n\n'
  for await (const profiles of followProfiles(profiler, { ...options, heartbeat: HEARTBEAT })) {
    const waiting = recorder?.waitingTokens() ?? []
    const isChanged = shown !== (shown = waiting.join())
    // A comment keeps the connection open.
    let events = profiles.map((summary) => `event: profile\ndata: ${visibleJson(summary)}\n\n`).join('')
    if (isChanged) events += `event: waiting\ndata: ${visibleJson(waiting)}\n\n`
    yield events || ': no new profiles\n\n'
  }
}
