import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MASKED } from '../../lib/mask/mask.js'
import { CPU_HEADER, cpuProfileOf, readCpuRecord, refusalOf } from '../../lib/profiler/cpu/record.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { visibleJson } from '../../lib/view/json.js'
import { baseOf, formOf, NotAvailableError, profileOf, routeOptions, sendFile } from './responses.js'

const NotRepeatableError = createError('HINDSIGHT_NOT_REPEATABLE', 'The request cannot be repeated: %s.', 409)
const RepeatTimeoutError =
  createError('HINDSIGHT_REPEAT_TIMEOUT', 'The repeated request was not answered within %s seconds.', 504)

/** Milliseconds: more than a recording may take. */
const TIMEOUT = 45_000
/** Headers that are set anew. */
const NOT_REPEATED = ['cookie', 'authorization', 'sec-fetch-site']

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
  if (!URL.canParse(url)) throw new NotRepeatableError('its URL has no path')
  const { storedRequest } = await import('../../lib/profiler/replay/stored-request.js')
  const { fillRequest } = await import('../../lib/profiler/replay/fill.js')
  const { ResponseTimeoutError, send } = await import('../../lib/profiler/replay/replay.js')
  const { target, headers: stored } = fillRequest(storedRequest(profile), new Map())
  // The profile does not have masked values; cookies and credentials are those of the request for the repetition.
  const { cookie, authorization } = request.headers
  const headers = {
    ...Object.fromEntries(Object.entries(stored).filter(([name]) => !NOT_REPEATED.includes(name))),
    ...(cookie !== undefined && { cookie }),
    ...(authorization !== undefined && { authorization }),
    [CPU_HEADER]: '1'
  }
  const { remoteAddress = '127.0.0.1' } = request.raw.socket
  const token = await send(request.server.hindsight.app, { method, url: target, headers, remoteAddress }, TIMEOUT)
    .catch((error: unknown) => {
      throw error instanceof ResponseTimeoutError ? new RepeatTimeoutError(TIMEOUT / 1000) : error
    })
  if (token === undefined) throw new NotRepeatableError('the response names no profile')
  return token
}
