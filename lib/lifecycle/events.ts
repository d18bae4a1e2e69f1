import type { Stage } from './lifecycle.js'

export type PassName = 'main' | 'error'
export type Outcome = 'ran' | 'skipped' | 'answered' | 'raised'

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
