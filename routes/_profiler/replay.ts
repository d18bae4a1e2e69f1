import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { stateOf } from '../../lib/lifecycle/request-state.js'
import type { ReplayView } from '../../lib/profiler/pages/replay.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { maskedRequest, MissingValueError } from '../../lib/profiler/replay/fill.js'
import { replay, ReplayFailedError, replayProblem } from '../../lib/profiler/replay/replay.js'
import {
  isSafe, NotSendableError, storedRequest, type StoredRequest
} from '../../lib/profiler/replay/stored-request.js'
import {
  BadFieldError, baseOf, fieldsOf, NotSendableRequestError, profileOf, readForms, routeConfig, sendPage, tokenOf,
  wantsJson, type Fields
} from './answer.js'

const ReplayError =
  createError('HINDSIGHT_REPLAY_FAILED', 'The request of profile "%s" could not be sent again: %s', 502)

const VALUE = 'value.'

/** Sends stored requests again: in debug mode only, whatever role an operator may have elsewhere. */
export default async function replayRoutes (app: FastifyInstance): Promise<void> {
  if (!app.hindsight.debug) return
  await readForms(app)
  app.get('/:token/replay', { config: routeConfig(app, '_profiler_replay_form') }, showRequest)
  app.post('/:token/replay', { config: routeConfig(app, '_profiler_replay') }, sendAgain)
}

async function showRequest (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const stored = storedRequestOf(await profileOf(request))
  const problem = replayProblem(stored)
  const view: ReplayView = {
    token: tokenOf(request),
    request: maskedRequest(stored),
    safe: isSafe(stored.method),
    masked: stored.masked,
    notes: stored.notes,
    ...(problem !== undefined && { problem })
  }
  if (wantsJson(request, reply)) {
    return { ...view, formToken: request.server.hindsight.profiler.formTokens.create() }
  }
  const { replayPage } = await import('../../lib/profiler/pages/replay.js')
  return await sendPage(request, reply, (options) => replayPage(view, options))
}

async function sendAgain (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const fields = fieldsOf(request)
  const profile = await profileOf(request)
  const { token } = profile
  const stored = storedRequestOf(profile)
  const values = valuesOf(fields, stored.masked.map(({ name }) => name))
  if (!isSafe(stored.method) && fields.confirm !== '1') {
    const rule = 'send confirm=1 to send it'
    throw new BadFieldError('confirm', `${stored.method} is no safe method (RFC 9110, section 9.2.1): ${rule}`)
  }
  // The request that is injected from here on finds the token in the context of this one.
  stateOf(request).replays = token
  const again = await replay(request.server.hindsight.app, stored, values).catch((error: unknown) => {
    if (error instanceof NotSendableError) throw new NotSendableRequestError(token, error.message)
    if (error instanceof ReplayFailedError) throw new ReplayError(token, error.message)
    if (!(error instanceof MissingValueError)) throw error
    const reason = 'it is masked in the profile, and the request cannot be sent without it'
    throw new BadFieldError(`${VALUE}${error.missing}`, reason)
  })
  if (!wantsJson(request, reply)) return reply.redirect(`${baseOf(request)}/${token}/compare/${again.token}`, 303)
  const { compareProfiles } = await import('../../lib/profiler/compare/compare.js')
  return {
    token: again.token, replayOf: token, status: again.status, comparison: compareProfiles(profile, again)
  }
}

function storedRequestOf (profile: Profile): StoredRequest {
  try {
    return storedRequest(profile)
  } catch (error) {
    throw error instanceof NotSendableError ? new NotSendableRequestError(profile.token, error.message) : error
  }
}

/** The values of a form for the masked ones. */
function valuesOf (fields: Fields, masked: readonly string[]): Map<string, string> {
  const values = new Map<string, string>()
  for (const [field, value] of Object.entries(fields)) {
    if (field === 'form_token' || field === 'confirm') continue
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
