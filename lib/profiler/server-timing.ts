import type { FastifyReply, FastifyRequest } from 'fastify'
import { stateOf } from '../lifecycle/request-state.js'

const MAX_LISTENERS = 3
/** Milliseconds: faster listeners are left out. */
const MIN_DURATION = 0.05
const MAX_DESCRIPTION = 100

/** Adds the times until the headers are written (Server Timing, section 3). */
export function addServerTiming (request: FastifyRequest, reply: FastifyReply): void {
  const { recorder, route, startedAt, handlerStart, handlerEnd } = stateOf(request)
  if (recorder === null) return
  const now = performance.now()
  const listeners = recorder.events().filter(({ outcome }) => outcome !== 'skipped')
  const stages = new Map<string, number>()
  for (const { stage, duration } of listeners) stages.set(stage, (stages.get(stage) ?? 0) + duration)
  const slowest = listeners.filter(({ duration }) => duration >= MIN_DURATION)
    .sort((a, b) => b.duration - a.duration)
    .slice(0, MAX_LISTENERS)
  const metrics = [metric('total', now - startedAt)]
  if (handlerStart !== 0) {
    metrics.push(metric('handler', (handlerEnd || now) - handlerStart, route?.name ?? request.method))
  }
  for (const [stage, duration] of stages) metrics.push(metric(stage, duration))
  for (const { stage, listener, duration } of slowest) metrics.push(metric(listener, duration, stage))
  // A route may have set metrics of its own.
  const own = [reply.getHeader('server-timing') ?? []].flat().map(String)
  reply.header('server-timing', [...own, ...metrics].join(', '))
}

/** One metric: a token, and parameters of which the description is a quoted string (RFC 9110, section 5.6.4). */
export function metric (name: string, duration: number, description = ''): string {
  const token = name.replace(/[^\w!#$%&'*+.^`|~-]/g, '_').slice(0, MAX_DESCRIPTION) || '_'
  const quoted = description.slice(0, MAX_DESCRIPTION).replace(/[^\t\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')
  const milliseconds = Math.max(0, Math.round(duration * 1000) / 1000)
  return `${token};dur=${milliseconds}${quoted === '' ? '' : `;desc="${quoted}"`}`
}
