import type { FastifyReply, FastifyRequest } from 'fastify'
import { performance } from '../clock.js'
import { headerValues } from '../http/responses.js'
import { recordingOf } from '../lifecycle/state.js'

/**
 * Adds `Server-Timing` (section 3): the times of the request until now, of the diagnostic page, of the handler, and of
 * each stage.
 */
export function addServerTiming (request: FastifyRequest, reply: FastifyReply): void {
  const { events, timing: { startedAt, handlerStart, handlerEnd, own: ofHindsight } } = recordingOf(request)
  if (events === null) return
  const now = performance.now()
  const times = new Map([['total', now - startedAt - ofHindsight]])
  if (ofHindsight !== 0) times.set('hindsight', ofHindsight)
  if (handlerStart !== 0) times.set('handler', (handlerEnd || now) - handlerStart)
  for (const { stage, outcome, duration } of events.events()) {
    if (outcome !== 'skipped') times.set(stage, (times.get(stage) ?? 0) + duration)
  }
  const metrics = Array.from(times, ([name, duration]) => `${name};dur=${Math.round(duration * 1000) / 1000}`)
  // A route may have set metrics of its own.
  const own = headerValues(reply, 'server-timing')
  reply.header('server-timing', [...own, ...metrics].join(', '))
}
