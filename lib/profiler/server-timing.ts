import type { FastifyReply, FastifyRequest } from 'fastify'
import { methodOf } from '../http/method-override.js'
import { stateOf } from '../lifecycle/request-state.js'

const MAX_LISTENERS = 3
/** Milliseconds: what is quicker is not worth a line. */
const LEAST = 0.05
const MAX_DESCRIPTION = 100

/** Tells browsers where the time went, as far as the response is known when its headers are written (Server Timing, section 3). */
export function addServerTiming (request: FastifyRequest, reply: FastifyReply): void {
  const { recorder, route, startedAt, handlerStart, handlerEnd } = stateOf(request)
  if (recorder === null) return
  const now = performance.now()
  const listeners = recorder.events().filter(({ outcome }) => outcome !== 'skipped')
  const stages = new Map<string, number>()
  for (const { stage, duration } of listeners) stages.set(stage, (stages.get(stage) ?? 0) + duration)
  const slowest = listeners.filter(({ duration }) => duration >= LEAST).sort((a, b) => b.duration - a.duration).slice(0, MAX_LISTENERS)
  const metrics = [
    metric('total', now - startedAt),
    ...(handlerStart === 0 ? [] : [metric('handler', (handlerEnd === 0 ? now : handlerEnd) - handlerStart, route?.name ?? methodOf(request))]),
    ...[...stages].map(([stage, duration]) => metric(stage, duration)),
    ...slowest.map(({ stage, listener, duration }) => metric(listener, duration, stage))
  ].join(', ')
  // A route may have timings of its own.
  const own = [reply.getHeader('server-timing') ?? []].flat().map(String)
  reply.header('server-timing', [...own, metrics].join(', '))
}

/** One metric: a token, and parameters of which the description is a quoted string (RFC 9110, section 5.6.4). */
export function metric (name: string, duration: number, description = ''): string {
  const token = name.replace(/[^\w!#$%&'*+.^`|~-]/g, '_').slice(0, MAX_DESCRIPTION) || '_'
  const quoted = description.slice(0, MAX_DESCRIPTION).replace(/[^\t\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')
  return `${token};dur=${Math.max(0, Math.round(duration * 1000) / 1000)}${quoted === '' ? '' : `;desc="${quoted}"`}`
}
