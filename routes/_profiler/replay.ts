import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MASKED } from '../../lib/mask/mask.js'
import { replayContext } from '../../lib/lifecycle/request-state.js'
import { CPU_HEADER } from '../../lib/parts/cpu/index.js'
import type { ReplayView } from '../../lib/reading/pages/replay.js'
import {
  BadFieldError, baseOf, formatOf, formOf, formTokenOf, profileOf, routeOptions, sendPage, type Fields
} from './responses.js'
import type { MaskedValue } from '../../lib/reading/replay/stored-request.js'

const VALUE = 'value.'

/** Replays stored requests, in debug mode only: no role permits it in production. */
export default async function replayRoutes (app: FastifyInstance): Promise<void> {
  if (!app.hindsight.debug) return
  app.get('/:token/replay', routeOptions(app, '_profiler_replay_form'), showRequest)
  app.post('/:token/replay', routeOptions(app, '_profiler_replay'), replayRequest)
}

async function showRequest (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { storedRequest, isSafe } = await import('../../lib/reading/replay/stored-request.js')
  const { fillRequest } = await import('../../lib/reading/replay/fill.js')
  const { replayProblem } = await import('../../lib/reading/replay/replay.js')
  const profile = await profileOf(request)
  const stored = storedRequest(profile)
  const problem = replayProblem(stored, request.server.hindsight.base)
  const view: ReplayView = {
    token: profile.token,
    formToken: await formTokenOf(request),
    // Masked values stay masked.
    request: fillRequest(stored, () => MASKED),
    safe: isSafe(stored.method),
    masked: stored.masked,
    notes: stored.notes,
    ...(problem !== undefined && { problem })
  }
  if (formatOf(request, reply) === 'json') return view
  const { replayPage } = await import('../../lib/reading/pages/replay.js')
  return await sendPage(request, reply, (options) => replayPage(view, options))
}

async function replayRequest (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { server: app } = request
  const { storedRequest, isSafe } = await import('../../lib/reading/replay/stored-request.js')
  const { replay } = await import('../../lib/reading/replay/replay.js')
  const fields = await formOf(request)
  const profile = await profileOf(request)
  const { token } = profile
  const stored = storedRequest(profile)
  const values = valuesOf(fields, stored.masked)
  if (!isSafe(stored.method) && fields.confirm !== '1') {
    throw new BadFieldError('confirm', `${stored.method} is not safe (RFC 9110, section 9.2.1): send confirm=1, too`)
  }
  if (fields.cpu === '1') stored.headers.push([CPU_HEADER, '1'])
  const again = await replayContext.run({ replayOf: token }, replay, app.hindsight.app, stored, values)
  if (formatOf(request, reply) !== 'json') {
    const target = fields.cpu === '1' ? `${again.token}?panel=cpu` : `${token}/compare/${again.token}`
    return reply.redirect(`${baseOf(request)}/${target}`, 303)
  }
  const { compareProfiles } = await import('../../lib/reading/compare/compare.js')
  const { token: newToken, status } = again
  return { token: newToken, replayOf: token, status, comparison: compareProfiles(profile, again, app.hindsight.parts) }
}

function valuesOf (fields: Fields, masked: readonly MaskedValue[]): Map<string, string> {
  const names = masked.map(({ name }) => VALUE + name)
  const values = new Map<string, string>()
  for (const [field, value] of Object.entries(fields)) {
    if (['form_token', 'confirm', 'cpu'].includes(field)) continue
    if (!names.includes(field)) {
      throw new BadFieldError(field, `nothing of that name is masked; masked are ${names.join(', ') || 'no values'}`)
    }
    const name = field.slice(VALUE.length)
    if (typeof value !== 'string') throw new BadFieldError(field, 'it may be given only once')
    if (/[\r\n\0]/.test(value) && !name.startsWith('body')) throw new BadFieldError(field, 'it has a line break')
    values.set(name, value)
  }
  const missing = masked.find(({ name, required }) => required && !values.get(name))
  if (missing === undefined) return values
  throw new BadFieldError(VALUE + missing.name, 'it is masked in the profile, and the request requires it')
}
