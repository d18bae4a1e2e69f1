import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Stage } from './stage.js'

/** What a hook of ours does, where it is that of a listener. */
export interface ListenerMark {
  stage: Stage
  listener: string
}

/** What a hook does, without the callback of Fastify: `requestHook` and `sendHook` make a hook of it. */
export type Run = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown

const own = new WeakMap<object, ListenerMark | null>()
const runs = new WeakMap<object, Run>()

/** Marks a hook as one of ours, which is no hook of the application; `mark` says of which listener, and `run` what it does from the second request of a route on, joined with others. */
export function ownHook<F extends object> (hook: F, mark: ListenerMark | null = null, run: Run | null = null): F {
  own.set(hook, mark)
  if (run !== null) runs.set(hook, run)
  return hook
}

/** What a hook of ours does; null where it cannot be joined with others. */
export function runOf (hook: object): Run | null {
  return runs.get(hook) ?? null
}

/** Whether a hook is one of ours, or has been looked at already. */
export function isOwnHook (hook: object): boolean {
  return own.has(hook)
}

/** The listener whose hook it is; null where it is that of none. */
export function listenerOf (hook: object): ListenerMark | null {
  return own.get(hook) ?? null
}
