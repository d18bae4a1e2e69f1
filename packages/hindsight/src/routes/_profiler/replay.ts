import createError from '@fastify/error'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { replayContext } from '../../recording/trace.js'
import type { Part } from '../../parts/part.js'
import { addressOf } from '../../parts/read.js'
import {
  BadFieldError, baseOf, formatOf, formOf, formTokenOf, NotAvailableError, profileOf, routeOptions, sendPage, sourceOf,
  type Fields
} from './responses.js'
import type { Coverage, SentAgain } from '../../reading/pages/coverage.js'
import type { ReplayOutcome } from '../../reading/mcp/tools.js'
import type { RouteFilter } from '../../reading/pages/routes.js'
import { exampleOf } from '../../reading/replay/example.js'
import type { RequestText } from '../../reading/replay/edited.js'
import type { MaskedValue, StoredRequest, ValueOf } from '../../reading/replay/stored-request.js'
import { PROFILE_VERSION, type Profile } from '../../store/profile.js'

const UnsafeError = createError('HINDSIGHT_BAD_FIELD',
  'Invalid "confirm": %s is not safe (RFC 9110, section 9.2.1): send confirm=1, too.', 400)

const VALUE = 'value.'
const OTHER_HOST = 'The request names another host than that of the application: it is not sent.'
const OTHER_FIELDS = ['form_token', 'confirm', 'method', 'url', 'headers', 'body']

/**
 * The routes of the application, requests that a developer writes for them, and replays of stored requests; in debug
 * mode only: no role permits it in production.
 */
export default async function replayRoutes (app: FastifyInstance): Promise<void> {
  if (!app.hindsight.debug) return
  app.get('/:token/replay', routeOptions(app, '_profiler_replay_form'),
    async (request, reply) => await sendForm(request, reply, await profileOf(request)))
  app.post('/:token/replay', routeOptions(app, '_profiler_replay'), replayRequest)
  app.post('/:token/coverage', routeOptions(app, '_profiler_coverage'), sendCoverage)
  app.get('/routes', routeOptions(app, '_profiler_routes'), showRoutes)
  app.get('/routes/try', routeOptions(app, '_profiler_try_form'), showForm)
  app.post('/routes/try', routeOptions(app, '_profiler_try'), sendRequest)
}

/** Sends the form of a request; of a profile without a token, that of a request that a developer writes. */
async function sendForm (request: FastifyRequest, reply: FastifyReply, profile: Profile): Promise<unknown> {
  const { replayPage, replayView } = await import('../../reading/pages/replay.js')
  const { base, parts } = request.server.hindsight
  const view = replayView(profile, await formTokenOf(request), base)
  if (formatOf(request, reply) === 'json') return view
  const chosen = request.query as Fields
  return await sendPage(request, reply, (options) => replayPage(view, { ...options, parts, chosen }))
}

async function replayRequest (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const fields = await formOf(request)
  const profile = await profileOf(request)
  const again = await sendEdited(request, reply, fields, profile)
  if (again === undefined) return reply
  const { token } = profile
  if (formatOf(request, reply) !== 'json') {
    const [chosen] = chosenParts(request, fields)
    const shown = chosen === undefined ? `${token}/compare/${again.token}` : `${again.token}${addressOf(chosen.name)}`
    return reply.redirect(`${baseOf(request)}/${shown}`, 303)
  }
  const { compareProfiles } = await import('../../reading/compare/compare.js')
  const { token: newToken, status } = again
  const comparison = compareProfiles(profile, again, request.server.hindsight.parts)
  return { token: newToken, replayOf: token, status, comparison }
}

/**
 * Sends the request of a profile as the fields change it. Undefined: the form was sent again, with what is missing;
 * clients that want JSON receive an error.
 */
async function sendEdited (
  request: FastifyRequest, reply: FastifyReply, fields: Fields, profile: Profile
): Promise<Profile | undefined> {
  const { storedRequest, isSafe } = await import('../../reading/replay/stored-request.js')
  const { replayRequest } = await import('../../reading/replay/replay.js')
  const { editedRequest, indentedJson, restoredText, textOf, unixLines } =
    await import('../../reading/replay/edited.js')
  const { replayPage, replayView } = await import('../../reading/pages/replay.js')
  const { app, base, originOf, parts } = request.server.hindsight
  const view = replayView(profile, await formTokenOf(request), base)
  const shown = textOf(view.request)
  const changed = Object.entries(shown).flatMap(([name, known]) => {
    const given = fields[name] === undefined ? known : restoredText(unixLines(textField(fields, name)), known)
    const isSame = given === unixLines(known) || given === indentedJson(unixLines(known))
    return isSame ? [] : [[name, given]]
  })
  const text: RequestText = { ...shown, ...Object.fromEntries(changed) }
  try {
    // An application may permit more to the address of another client.
    const { ip } = originOf(request)
    const read = (valueOf?: ValueOf): StoredRequest =>
      changed.length === 0 ? storedRequest(profile, valueOf) : editedRequest(text, { ...profile, ip }, valueOf)
    const values = valuesOf(fields, parts, read().masked, view.masked)
    const stored = read(({ name }) => values.get(name))
    const [hidden] = read().masked
    // A button outside of the form shows no masked value: the form asks for it.
    if (hidden !== undefined && fields.url === undefined && chosenParts(request, fields).length > 0) {
      throw new BadFieldError(hidden.name, 'it is masked in the profile: enter it, or send the request without it')
    }
    if (!isSafe(stored.method) && fields.confirm !== '1') {
      throw new UnsafeError(stored.method)
    }
    Object.assign(stored.headers, ...chosenParts(request, fields).map(({ replay }) => replay?.headers))
    return await replayContext.run({ replayOf: profile.token }, replayRequest, app, stored)
  } catch (error) {
    const { statusCode = 500, message } = error as FastifyError
    if (statusCode >= 500 || view.problem !== undefined || formatOf(request, reply) === 'json') throw error
    const [sent, chosen] = [{ text, values: fields, reason: message }, fields]
    await sendPage(request, reply.code(statusCode), (options) =>
      replayPage(view, { ...options, parts, chosen }, sent))
    return undefined
  }
}

/**
 * Replays the request of a profile for a model. What clients wrote decides only about path, headers and body: a request
 * that names another host than that of the application is refused.
 */
export async function replayProfile (
  request: FastifyRequest, profile: Profile, values: Fields, isConfirmed: boolean
): Promise<ReplayOutcome> {
  const { storedRequest, isSafe, namesOnlyHost } = await import('../../reading/replay/stored-request.js')
  const { replayRequest } = await import('../../reading/replay/replay.js')
  const { compareProfiles } = await import('../../reading/compare/compare.js')
  const { app, originOf, parts } = request.server.hindsight
  const { masked } = storedRequest(profile)
  const fields = Object.fromEntries(Object.entries(values).map(([name, value]) => [VALUE + name, value]))
  const known = valuesOf(fields, [], masked, masked)
  const stored = storedRequest(profile, ({ name }) => known.get(name))
  if (!namesOnlyHost(stored, originOf(request).host)) throw new NotAvailableError(OTHER_HOST)
  if (!isSafe(stored.method) && !isConfirmed) {
    const problem = `${stored.method} is not safe, and may repeat side effects: "confirm": true sends it`
    throw new BadFieldError('confirm', problem)
  }
  const again = await replayContext.run({ replayOf: profile.token }, replayRequest, app, stored)
  const { token, status, exceptions } = again
  return {
    token,
    status,
    failed: status >= 400 || exceptions.length > 0,
    unset: masked.map(({ name }) => name).filter((name) => !known.has(name)),
    comparison: compareProfiles(profile, again, parts)
  }
}

/** Replays a failure and the last success of its route, and shows the functions that only one of them ran. */
async function sendCoverage (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const fields = await formOf(request)
  const profile = await profileOf(request)
  const { hindsight } = request.server
  const { lastSuccess } = await import('../../reading/compare/last-success.js')
  const found = await lastSuccess(sourceOf(request), profile, hindsight.parts)
  if (found === null) throw new NotAvailableError('No success of the same route is stored before this request.')
  const success = await profileOf(request, found.summary.token)
  const { compareFunctions } = await import('../../inspection/compare-functions.js')
  const [sendSuccess, sendFailure] = [await repeatable(success, fields), await repeatable(profile, fields)]
  const { ran: [first, second], only: [onlySuccess, onlyFailure] } =
    await compareFunctions(async () => await sendSuccess(hindsight.app), async () => await sendFailure(hindsight.app))
  const sent = ({ token, status }: Profile): SentAgain => ({ token, status })
  const coverage: Coverage =
    { token: profile.token, success: sent(first), failure: sent(second), onlyFailure, onlySuccess }
  if (formatOf(request, reply) === 'json') return coverage
  const { coveragePage } = await import('../../reading/pages/coverage.js')
  return await sendPage(request, reply, (options) => coveragePage(coverage, hindsight.editor, options))
}

/** Returns the function that sends the request of a profile as it was. */
async function repeatable (profile: Profile, { confirm }: Fields): Promise<(app: FastifyInstance) => Promise<Profile>> {
  const { storedRequest, isSafe } = await import('../../reading/replay/stored-request.js')
  const { replayRequest } = await import('../../reading/replay/replay.js')
  const stored = storedRequest(profile)
  const { method, masked } = stored
  const missing = masked.find(({ required }) => required)
  if (missing !== undefined) {
    throw new BadFieldError(missing.name, `it is masked in the profile ${profile.token}, and the request requires it`)
  }
  if (!isSafe(method) && confirm !== '1') throw new UnsafeError(method)
  return async (app) => await replayContext.run({ replayOf: profile.token }, replayRequest, app, stored)
}

/** The parts whose boxes of the form are checked. */
function chosenParts (request: FastifyRequest, fields: Fields): Part[] {
  return request.server.hindsight.parts.filter(({ name, replay }) => replay !== undefined && fields[name] === '1')
}

function textField (fields: Fields, name: string): string {
  const { [name]: value } = fields
  if (typeof value === 'string') return value
  throw new BadFieldError(name, 'it may be given only once')
}

/** The values of masked places; those of a place that was removed by a change have no effect. */
function valuesOf (
  fields: Fields, parts: readonly Part[], masked: readonly MaskedValue[], original: readonly MaskedValue[]
): Map<string, string> {
  const names = new Set([...original, ...masked].map(({ name }) => name))
  const values = new Map<string, string>()
  for (const field of Object.keys(fields)) {
    const isBox = parts.some(({ name, replay }) => replay !== undefined && name === field)
    if (isBox || OTHER_FIELDS.includes(field)) continue
    const name = field.startsWith(VALUE) ? field.slice(VALUE.length) : field
    if (name === field || !names.has(name)) {
      const known = [...names].join(', ') || 'no values'
      throw new BadFieldError(name, `nothing of that name is masked; masked are ${known}`)
    }
    const value = textField(fields, field)
    if (/[\r\n\0]/.test(value) && !name.startsWith('body')) throw new BadFieldError(name, 'it has a line break')
    values.set(name, value)
  }
  const missing = masked.find(({ name, required }) => required && !values.get(name))
  if (missing === undefined) return values
  throw new BadFieldError(missing.name, 'it is masked in the profile, and the request requires it')
}

async function showRoutes (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { isNumberColumn, numberColumns, routesOf, routesPage } = await import('../../reading/pages/routes.js')
  const { hindsight } = request.server
  const { q, sort } = request.query as Fields
  const filter: RouteFilter = { q: String(q ?? '') }
  if (typeof sort === 'string' && isNumberColumn(sort)) filter.sort = sort
  else if (sort) throw new BadFieldError('sort', `the routes can be ordered by ${numberColumns}`)
  const view = await routesOf(hindsight)
  if (formatOf(request, reply) === 'json') return view
  return await sendPage(request, reply, (options) => routesPage(view, hindsight.editor, filter, options))
}

async function showForm (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { method = 'GET', url = '/' } = request.query as Fields
  return await sendForm(request, reply, written(request, String(method), String(url)))
}

async function sendRequest (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const sent = await sendEdited(request, reply, await formOf(request), written(request, 'GET', '/'))
  if (sent === undefined) return reply
  const { token, status } = sent
  if (formatOf(request, reply) === 'json') return { token, status }
  return reply.redirect(`${baseOf(request)}/${token}`, 303)
}

/** A request as a profile without a token. */
function written (request: FastifyRequest, method: string, target: string): Profile {
  const { host } = request
  const { ip } = request.server.hindsight.originOf(request)
  const hasBody = /^(?:POST|PUT|PATCH|QUERY)$/.test(method)
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
