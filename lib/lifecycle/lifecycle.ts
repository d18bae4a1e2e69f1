import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Stage } from './stage.js'

/** One place of the order of listeners, as it is after registration. */
export interface Slot {
  /** Its place in the whole order, from 0. */
  index: number
  stage: Stage
  listener: string
  /** Why there is nothing to do, or null where a hook was added. */
  reason: string | null
  /** Runs the listener outside of its hook, as an error pass does; null where there is nothing to do. */
  run: ((request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown) | null
}

/** The order of listeners as it was registered. */
export interface Lifecycle {
  readonly slots: Slot[]
}
