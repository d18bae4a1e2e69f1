import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Slot } from 'fastify-hindsight/recorder'

/** The five stages of a pass, in order (section 6 of the observed document), with their Fastify hooks. */
export const HOOK_OF_STAGE = {
  'kernel.request': 'onRequest',
  'kernel.controller': 'preHandler',
  'kernel.controller_arguments': 'preHandler',
  'kernel.response': 'onSend',
  'kernel.finish_request': 'onSend'
} as const

export type Stage = keyof typeof HOOK_OF_STAGE

type SlotHook = (request: FastifyRequest, reply: FastifyReply, payload?: unknown) => unknown

/** One place in the order of listeners. */
export interface ListenerSlot extends Slot {
  readonly stage: Stage
  /** Runs the listener outside of its hook, as an error pass does; null where there is nothing to do. */
  run: SlotHook | null
  /** Of a listener of two stages: the hook of the later one. */
  later?: SlotHook
}
