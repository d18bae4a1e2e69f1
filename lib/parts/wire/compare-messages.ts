import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { attempt } from '../../attempt.js'
import { LastHook, ownHook } from '../../lifecycle/hooks.js'
import { COMPARE } from './collector.js'

type IsLast = (request: FastifyRequest) => boolean

/**
 * Compares messages before and after validation and serialization. Returns the hooks that have to run after those of
 * the application.
 */
export function compareMessages (app: FastifyInstance): Record<'preValidation' | 'preSerialization', LastHook> {
  const failed = (error: unknown): void => app.hindsight.warn('A message was not compared', error)
  const compare = (
    hook: keyof typeof COMPARE, request: FastifyRequest, reply: FastifyReply, payload?: unknown
  ): void => { attempt(() => COMPARE[hook](request, reply, payload), failed) }
  const requestHook = (name: 'preValidation' | 'preHandler', isLast: IsLast) =>
    function hindsightReceived (request: FastifyRequest, reply: FastifyReply, done: () => void): void {
      if (isLast(request)) compare(name, request, reply)
      done()
    }
  const payloadHook = (name: 'preSerialization' | 'onSend', isLast: IsLast) => function hindsightSent (
    request: FastifyRequest, reply: FastifyReply, payload: unknown, done: (error: null, payload: unknown) => void
  ): void {
    if (isLast(request)) compare(name, request, reply, payload)
    done(null, payload)
  }
  const last = {
    preValidation: new LastHook('preValidation', (isLast) => requestHook('preValidation', isLast)),
    preSerialization: new LastHook('preSerialization', (isLast) => payloadHook('preSerialization', isLast))
  }
  last.preValidation.addTo(app)
  app.addHook('preHandler', ownHook(requestHook('preHandler', () => true)))
  last.preSerialization.addTo(app)
  app.addHook('onSend', ownHook(payloadHook('onSend', () => true)))
  return last
}
