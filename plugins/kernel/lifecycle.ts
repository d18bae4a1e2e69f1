import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { SlotMemory } from './slot-memory.js'
import type { Stage } from './stage.js'
import type { Skip } from './verdict.js'

/** One of the 42 places of the order, as it stands after registration. */
export interface Slot {
  /** Its place in the whole order, from 0. */
  index: number
  stage: Stage
  listener: string
  /** Why there is nothing to do, or null where a hook was added. */
  reason: string | null
  /** Why its request is left to a plugin of the application; null where it is not. */
  left: Skip | null
  /** The same for parts of the application, which have such a plugin for themselves; null where there are none. */
  leftIn: Map<FastifyInstance, Skip> | null
  /** Runs the listener outside its hook, as an error pass does; null where there is nothing to do. */
  run: ((request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown) | null
  /** What it has done before, where requests are observed. */
  readonly memory: SlotMemory
}

/** A place of the order, as it is ahead of its listener's registration. */
export function newSlot (index: number, stage: Stage, listener: string, reason: string | null = null): Slot {
  return { index, stage, listener, reason, left: null, leftIn: null, run: null, memory: new SlotMemory({ index, stage, listener }) }
}

/** The order as it was registered, and whether it is observed. */
export interface Lifecycle {
  readonly observed: boolean
  /** Whether some requests are observed from their beginning; otherwise only those that fail are, from then on. */
  readonly fromBeginning: boolean
  readonly slots: Slot[]
  /** Whether the recorder of a request is told ahead of each change of its response's headers. */
  watched: boolean
  /** The slots of an error pass ahead of the response that have something to do; null before the first one. */
  errorSlots: Slot[] | null
}

declare module 'fastify' {
  interface FastifyInstance {
    lifecycle: Lifecycle
  }
}

/** Opens the book of an application's listeners; each of them enters itself when it is registered. */
export function openLifecycle (app: FastifyInstance, observed: boolean, fromBeginning: boolean): void {
  app.decorate('lifecycle', { observed, fromBeginning, slots: [], watched: false, errorSlots: null })
}
