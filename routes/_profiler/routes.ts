import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { exampleOf } from '../../lib/reading/replay/example.js'
import { PROFILE_VERSION, type Profile } from '../../lib/store/profile.js'
import { sendEdited, sendForm } from './replay.js'
import { baseOf, formatOf, formOf, routeOptions, sendPage, type Fields } from './responses.js'

/** The routes of the application, and requests that a developer writes for them; in debug mode only. */
export default async function routesRoutes (app: FastifyInstance): Promise<void> {
  if (!app.hindsight.debug) return
  app.get('/routes', routeOptions(app, '_profiler_routes'), showRoutes)
  app.get('/routes/try', routeOptions(app, '_profiler_try_form'), showForm)
  app.post('/routes/try', routeOptions(app, '_profiler_try'), sendRequest)
}

async function showRoutes (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { routesOf, routesPage } = await import('../../lib/reading/pages/routes.js')
  const { hindsight } = request.server
  const view = await routesOf(hindsight)
  if (formatOf(request, reply) === 'json') return view
  return await sendPage(request, reply, (options) => routesPage(view, hindsight.editor, options))
}

async function showForm (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { method = 'GET', url = '/' } = request.query as Fields
  return await sendForm(request, reply, written(request, String(method), String(url)))
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
