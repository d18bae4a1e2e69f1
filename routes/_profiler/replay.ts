import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { stateOf } from '../../lib/lifecycle/request-state.js'
import { CPU_HEADER } from '../../lib/profiler/cpu/record.js'
import type { ReplayView } from '../../lib/profiler/pages/replay.js'
import {
  BadFieldError, baseOf, formatOf, formOf, formTokenOf, profileOf, routeOptions, sendPage, type Fields
} from './responses.js'

const ReplayError = createError('HINDSIGHT_REPLAY_FAILED', 'The replay of profile "%s" failed: %s', 502)

const VALUE = 'value.'

/** Replays stored requests: in debug mode only, whatever role an operator may have elsewhere. */
export default async function replayRoutes (app: FastifyInstance): Promise<void> {
  if (!app.hindsight.debug) return
  app.get('/:token/replay', routeOptions(app, '_profiler_replay_form'), showRequest)
  app.post('/:token/replay', routeOptions(app, '_profiler_replay'), replayRequest)
}

async function showRequest (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const view = await viewOf(request)
  if (formatOf(request, reply) === 'json') {
    return { ...view, formToken: formTokenOf(request) }
  }
  const { replayPage } = await import('../../lib/profiler/pages/replay.js')
  return await sendPage(request, reply, (options) => replayPage(view, options))
}

async function viewOf (request: FastifyRequest): Promise<ReplayView> {
  const { storedRequest, isSafe } = await import('../../lib/profiler/replay/stored-request.js')
  const { maskedRequest } = await import('../../lib/profiler/replay/fill.js')
  const { replayProblem } = await import('../../lib/profiler/replay/replay.js')
  const profile = await profileOf(request)
  const stored = storedRequest(profile)
  const problem = replayProblem(stored)
  return {
    token: profile.token,
    request: maskedRequest(stored),
    safe: isSafe(stored.method),
    masked: stored.masked,
    notes: stored.notes,
    ...(problem !== undefined && { problem })
  }
}

async function replayRequest (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { server: app } = request
  const { storedRequest, isSafe } = await import('../../lib/profiler/replay/stored-request.js')
  const { MissingValueError } = await import('../../lib/profiler/replay/fill.js')
  const { replay, ReplayFailedError } = await import('../../lib/profiler/replay/replay.js')
  const fields = formOf(request)
  const profile = await profileOf(request)
  const { token } = profile
  const stored = storedRequest(profile)
  const values = valuesOf(fields, stored.masked.map(({ name }) => name))
  if (!isSafe(stored.method) && fields.confirm !== '1') {
    const rule = 'send confirm=1 when the request as it will be sent is what you want'
    throw new BadFieldError('confirm', `${stored.method} is no safe method (RFC 9110, section 9.2.1): ${rule}`)
  }
  // The request that is injected from here on finds the token in the context of this one.
  stateOf(request).replays = token
  if (fields.cpu === '1') stored.headers.push([CPU_HEADER, '1'])
  const again = await replay(app.hindsight.app, stored, values).catch((error: unknown) => {
    if (error instanceof MissingValueError) {
      throw new BadFieldError(`${VALUE}${error.missing}`, 'it is masked in the profile, and the request requires it')
    }
    throw error instanceof ReplayFailedError ? new ReplayError(token, error.message) : error
  })
  if (formatOf(request, reply) !== 'json') {
    const target = fields.cpu === '1' ? `${again.token}?panel=cpu` : `${token}/compare/${again.token}`
    return reply.redirect(`${baseOf(request)}/${target}`, 303)
  }
  const { compareProfiles } = await import('../../lib/profiler/compare/compare.js')
  const { token: newToken, status } = again
  return { token: newToken, replayOf: token, status, comparison: compareProfiles(profile, again) }
}

function valuesOf (fields: Fields, masked: readonly string[]): Map<string, string> {
  const values = new Map<string, string>()
  for (const [field, value] of Object.entries(fields)) {
    if (['form_token', 'confirm', 'cpu'].includes(field)) continue
    const name = field.startsWith(VALUE) ? field.slice(VALUE.length) : ''
    if (!masked.includes(name)) {
      const names = masked.map((one) => VALUE + one).join(', ')
      const known = masked.length === 0 ? 'nothing is' : `masked are ${names}`
      throw new BadFieldError(field, `nothing of that name is masked; ${known}`)
    }
    if (typeof value !== 'string') throw new BadFieldError(field, 'it may be given only once')
    if (/[\r\n\0]/.test(value) && !name.startsWith('body')) throw new BadFieldError(field, 'it has a line break')
    values.set(name, value)
  }
  return values
}
