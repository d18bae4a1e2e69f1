import type { FastifyReply, FastifyRequest } from 'fastify'

/** The five stages of a pass, in order (section 6 of the observed document), with their Fastify hooks. */
export const HOOK_OF_STAGE = {
  'kernel.request': 'onRequest',
  'kernel.controller': 'preHandler',
  'kernel.controller_arguments': 'preHandler',
  'kernel.response': 'onSend',
  'kernel.finish_request': 'onSend'
} as const

export type Stage = keyof typeof HOOK_OF_STAGE

/** One place in the order of listeners, as it is after registration. */
export interface Slot {
  /** Its place in the whole order, from 0. */
  index: number
  stage: Stage
  listener: string
  /** Why no hook was added; null if one was. */
  reason: string | null
  /** Runs the listener outside of its hook, as an error pass does; null where there is nothing to do. */
  run: ((request: FastifyRequest, reply: FastifyReply, payload?: unknown) => unknown) | null
}

/**
 * Runs listeners outside of their hooks, one after the other. Each receives the payload that the one before it
 * returned. Returns the last payload, or a promise of it where a listener is asynchronous.
 */
export function runSlots (
  slots: readonly Slot[], request: FastifyRequest, reply: FastifyReply, payload?: unknown
): unknown {
  for (const [i, { run }] of slots.entries()) {
    const result = run?.(request, reply, payload)
    if (result instanceof Promise) {
      return result.then((later: unknown) => runSlots(slots.slice(i + 1), request, reply, payloadAfter(later, payload)))
    }
    payload = payloadAfter(result, payload)
  }
  return payload
}

function payloadAfter (result: unknown, payload: unknown): unknown {
  return typeof result === 'string' || Buffer.isBuffer(result) ? result : payload
}
