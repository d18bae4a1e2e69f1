import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MASKED } from '../../lib/mask/mask.js'
import { CPU_HEADER } from '../../lib/profiler/cpu/record.js'
import { dataOf, isObject } from '../../lib/profiler/panels/panel.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { visibleJson } from '../../lib/view/json.js'
import { baseOf, formOf, NotAvailableError, profileOf, routeOptions, sendFile } from './responses.js'

const NotRepeatableError = createError('HINDSIGHT_NOT_REPEATABLE', 'The request cannot be repeated: %s.', 409)
const RepeatTimeoutError =
  createError('HINDSIGHT_REPEAT_TIMEOUT', 'The repeated request was not answered within %s seconds.', 504)

/** Milliseconds: more than a recording may take. */
const TIMEOUT = 45_000
/** Headers of the connection, and headers that are set again. */
const NOT_REPEATED = new Set([
  'connection', 'content-length', 'transfer-encoding', 'upgrade', 'expect', 'keep-alive', 'te', 'sec-fetch-site'
])

/** The CPU profile of a request as a file, and in debug mode the form that repeats the request with one. */
export default async function cpuRoutes (app: FastifyInstance): Promise<void> {
  app.get('/:token/cpu', routeOptions(app, '_profiler_cpu'), sendCpuProfile)
  if (!app.hindsight.debug) return
  app.post('/:token/cpu', routeOptions(app, '_profiler_cpu_repeat'), async function repeat (request, reply) {
    formOf(request)
    const token = await repeatRequest(request, await profileOf(request))
    return reply.redirect(`${baseOf(request)}/${token}?panel=cpu`, 303)
  })
}

async function sendCpuProfile (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { token, collectors: { cpu } } = await profileOf(request)
  const { cpuProfileOf, readCpuRecord, refusalOf } = await import('../../lib/profiler/cpu/record.js')
  const record = readCpuRecord(cpu)
  if (record === null) {
    throw new NotAvailableError(`Profile "${token}" has no CPU profile: ${refusalOf(cpu) ?? 'none was requested.'}`)
  }
  return sendFile(reply, `${token}.cpuprofile`, 'application/json; charset=utf-8', visibleJson(cpuProfileOf(record)))
}

/** Repeats the request of a profile; returns the token of the new profile. */
async function repeatRequest (request: FastifyRequest, profile: Profile): Promise<string> {
  const { method, url } = profile
  if (method !== 'GET' && method !== 'HEAD') {
    throw new NotRepeatableError(`${method} may change something, GET and HEAD do not`)
  }
  if (url.includes(MASKED) || url.includes(encodeURIComponent(MASKED))) {
    throw new NotRepeatableError('its URL has masked values')
  }
  const target = /^https?:\/\/[^/?#]*(\/.*)$/i.exec(url)?.[1]
  if (target === undefined) throw new NotRepeatableError('its URL has no path')
  const { ResponseTimeoutError, send } = await import('../../lib/profiler/replay/replay.js')
  const headers = headersOf(request, profile)
  const { remoteAddress = '127.0.0.1' } = request.raw.socket
  const token = await send(request.server.hindsight.app, { method, url: target, headers, remoteAddress }, TIMEOUT)
    .catch((error: unknown) => {
      throw error instanceof ResponseTimeoutError ? new RepeatTimeoutError(TIMEOUT / 1000) : error
    })
  if (token === undefined) throw new NotRepeatableError('the response names no profile')
  return token
}

// Masked values are unknown; cookies and credentials are those of the developer's own request.
function headersOf ({ headers }: FastifyRequest, profile: Profile): Record<string, string | string[]> {
  const { headers: stored } = dataOf(profile, 'request')
  const isWhole = (value: unknown): value is string => typeof value === 'string' && !value.includes(MASKED)
  const kept = Object.entries(isObject(stored) ? stored : {})
    .filter((header): header is [string, string | string[]] => [header[1]].flat().every(isWhole))
    .filter(([name]) => !NOT_REPEATED.has(name) && !name.startsWith(':'))
  return {
    ...Object.fromEntries(kept),
    ...(headers.cookie !== undefined && { cookie: headers.cookie }),
    ...(headers.authorization !== undefined && { authorization: headers.authorization }),
    [CPU_HEADER]: '1'
  }
}
