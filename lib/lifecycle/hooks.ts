import type { FastifyInstance } from 'fastify'
import type { Slot } from './events.js'

/** Receives each hook that is added to `instance`; `add` adds it, or another one in its place. */
type Interceptor = (instance: FastifyInstance, name: string, hook: unknown, add: (hook: unknown) => void) => void

/** Calls `intercept` in place of `addHook` of an application, and of the instances inside of it, which inherit it. */
export function interceptHooks (app: FastifyInstance, intercept: Interceptor): void {
  const { addHook } = app
  app.addHook = function (this: FastifyInstance, name: string, hook: unknown) {
    intercept(this, name, hook, (added) => { addHook.call(this, name as never, added as never) })
    return this
  } as unknown as typeof addHook
}

/** Whether a value is a promise or another thenable, such as a query of a database library. */
export function isPromise (value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** The listener that a hook of Hindsight belongs to. */
type ListenerMark = Pick<Slot, 'stage' | 'listener'>

const ownHooks = new WeakMap<object, ListenerMark | null>()

/** Marks a hook as one of Hindsight's: it is not recorded as a hook of the application. */
export function ownHook<F extends object> (hook: F, mark: ListenerMark | null = null): F {
  ownHooks.set(hook, mark)
  return hook
}

/** Whether a hook is one of Hindsight's. */
export function isOwnHook (hook: object): boolean {
  return ownHooks.has(hook)
}

/** The listener that a hook belongs to; null where it belongs to none. */
export function listenerOf (hook: object): ListenerMark | null {
  return ownHooks.get(hook) ?? null
}
