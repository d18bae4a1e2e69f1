import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { declaredPlace } from '../../lib/errors/declared-place.js'
import { placeOf } from '../../lib/recording/application-hooks.js'
import type { RouteRow, RoutesView } from '../../lib/reading/pages/routes.js'
import { exampleOf } from '../../lib/reading/replay/example.js'
import { PROFILE_VERSION, type Profile, type ProfileSummary } from '../../lib/store/profile.js'
import { sendEdited, viewOf } from './replay.js'
import { baseOf, formatOf, formOf, routeOptions, sendPage, type Fields } from './responses.js'

/** The newest profiles whose durations and statuses are shown. */
const MAX_PROFILES = 1_000
const MAX_ROUTES = 300

/** The routes of the application, and requests that a developer writes for them; in debug mode only. */
export default async function routesRoutes (app: FastifyInstance): Promise<void> {
  if (!app.hindsight.debug) return
  app.get('/routes', routeOptions(app, '_profiler_routes'), showRoutes)
  app.get('/routes/try', routeOptions(app, '_profiler_try_form'), showForm)
  app.post('/routes/try', routeOptions(app, '_profiler_try'), sendRequest)
}

async function showRoutes (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const view = await routesOf(request)
  if (formatOf(request, reply) === 'json') return view
  const { routesPage } = await import('../../lib/reading/pages/routes.js')
  const { editor } = request.server.hindsight
  return await sendPage(request, reply, (options) => routesPage(view, editor, options))
}

/** The routes with their hooks, and what the newest profiles have of them. */
export async function routesOf (request: FastifyRequest): Promise<RoutesView> {
  const { routeTable, profiler } = request.server.hindsight
  const { profiles, next } = await profiler.search({ limit: MAX_PROFILES })
  const byRoute = new Map<string | null, ProfileSummary[]>()
  for (const profile of profiles) {
    const known = byRoute.get(profile.route)
    if (known === undefined) byRoute.set(profile.route, [profile])
    else known.push(profile)
  }
  const routes = routeTable.routes.slice(0, MAX_ROUTES).map((route): RouteRow => {
    const { name, methods, pattern, declaredAt } = route
    const own = byRoute.get(name) ?? []
    const durations = own.map(({ duration }) => duration).sort((a, b) => a - b)
    const at = (share: number): number | undefined => durations[Math.ceil(durations.length * share) - 1]
    const source = declaredAt === null ? undefined : declaredPlace(declaredAt)?.source
    const hooks = routeTable.hooksOf(route).map(({ stage, name, addedAt, pluginName = '' }) =>
      ({ stage, name: name === '' ? 'anonymous' : name, ...addedAt === undefined ? {} : placeOf(addedAt, pluginName) }))
    return {
      name,
      methods,
      pattern,
      ...source !== undefined && { source },
      hooks,
      count: own.length,
      failures: own.filter(({ error }) => error).length,
      p50: at(0.5),
      p95: at(0.95),
      queries: Math.max(0, ...own.map(({ values }) => Number(values?.queries ?? 0))),
      lastStatus: own[0]?.status
    }
  })
  return { routes, all: routeTable.routes.length, profiles: profiles.length, isBounded: next !== null }
}

async function showForm (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { method = 'GET', url = '/' } = request.query as Fields
  const view = await viewOf(request, written(request, String(method), String(url)))
  if (formatOf(request, reply) === 'json') return view
  const { replayPage } = await import('../../lib/reading/pages/replay.js')
  return await sendPage(request, reply, (options) => replayPage(view, options))
}

async function sendRequest (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const sent = await sendEdited(request, reply, await formOf(request), written(request, 'GET', '/'))
  if (sent === undefined) return reply
  const { token, status } = sent
  return formatOf(request, reply) === 'json' ? { token, status } : reply.redirect(`${baseOf(request)}/${token}`, 303)
}

/** A request as a profile without a token. */
function written (request: FastifyRequest, method: string, target: string): Profile {
  const { host } = request
  const { ip } = request.server.hindsight.originOf(request)
  const hasBody = /^(?:POST|PUT|PATCH)$/.test(method)
  const headers = { host, accept: '*/*', ...hasBody && { 'content-type': 'application/json' } }
  const { instance, options } = request.server.hindsight.routeTable.routes
    .find(({ methods, pattern }) => methods.includes(method) && pattern === target) ?? {}
  const schema = (options?.schema as Fields | undefined)?.body
  const body = schema === undefined ? {} : exampleOf(schema, instance?.getSchemas())
  return {
    version: PROFILE_VERSION,
    token: '',
    time: '',
    duration: 0,
    method,
    url: target,
    ip,
    status: 0,
    route: null,
    exceptions: [],
    logs: [],
    events: [],
    collectors: { request: { target, headers, ...hasBody && { body } } }
  }
}
