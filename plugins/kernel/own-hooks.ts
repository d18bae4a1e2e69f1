import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RouteConfig } from './route-config.js'
import type { Stage } from './stage.js'

/** What a hook of ours does, where it is that of a listener. */
export interface ListenerMark {
  stage: Stage
  listener: string
}

/** What a hook does, without the callback of Fastify: `requestHook` and `sendHook` make a hook of it. */
export type Run = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown

/** What it does for the requests of a route, once all of the application is registered; null: nothing, for none of them. */
export type RunOf = (config: RouteConfig | undefined) => Run | null

const own = new WeakMap<object, ListenerMark | null>()
const runs = new WeakMap<object, RunOf>()

/** Marks a hook as one of ours, which is no hook of the application; `mark` says of which listener, and `run` what it does from the second request of a route on, joined with others. */
export function ownHook<F extends object> (hook: F, mark: ListenerMark | null = null, run: RunOf | null = null): F {
  own.set(hook, mark)
  if (run !== null) Object.defineProperty(hook, 'bind', { value: bindKnown.bind(hook, run), configurable: true, writable: true })
  return hook
}

// Fastify binds each hook of a route to the instance that the route is of: what comes of that is known, too.
function bindKnown (this: object, run: RunOf, instance: unknown): unknown {
  const bound = Function.prototype.bind.call(this as () => unknown, instance)
  runs.set(bound, run)
  return bound
}

/** What a hook of ours does, as it was bound for a route; null where it cannot be joined with others. */
export function runOf (hook: object): RunOf | null {
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
