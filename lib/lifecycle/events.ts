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

type SlotHook = (request: FastifyRequest, reply: FastifyReply, payload?: unknown) => unknown

/** One place in the order of listeners, as it is after registration. */
export interface Slot {
  /** Its place in the whole order, from 0. */
  index: number
  stage: Stage
  listener: string
  /** Why no hook was added; null if one was. */
  reason: string | null
  /** Runs the listener outside of its hook, as an error pass does; null where there is nothing to do. */
  run: SlotHook | null
  /** Of a listener of two stages: the hook of the later one. */
  later?: SlotHook
}

export type PassName = 'main' | 'error'
/** `running`: it has not ended, or had not when the connection was closed. */
export type Outcome = 'ran' | 'skipped' | 'answered' | 'raised' | 'running'

/** The hooks of Fastify that a request passes; what an application adds to them happens between the listeners. */
export type HookStage =
  'onRequest' | 'preParsing' | 'preValidation' | 'preHandler' | 'preSerialization' | 'onSend' | 'onError' |
  'onResponse' | 'onTimeout'

/** One header before and after a listener; null: not set. */
export interface HeaderChange {
  name: string
  from: string | null
  to: string | null
}

/** The event of one listener, or one hook of the application, in one pass. */
export interface ListenerEvent {
  stage: Stage | HookStage
  /** The name of the listener or function; of a function without one that of its plugin, else the stage. */
  listener: string
  pass: PassName
  outcome: Outcome
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds. */
  duration: number
  /** Why it was skipped. */
  reason?: string
  /** Of a hook: the plugin that added it, where that is known. */
  plugin?: string
  /** Of a hook: where it was added, `file:line`. */
  source?: string
  changes?: {
    headers?: HeaderChange[]
    status?: { from: number, to: number }
  }
}

/** A listener or hook, with its name where it has one. */
export function hookTitle ({ stage, listener }: { stage: string, listener: string }): string {
  if (stage.startsWith('kernel.')) return `listener "${listener}"`
  return `${stage} hook${listener === stage ? '' : ` "${listener}"`}`
}
