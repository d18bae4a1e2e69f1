import type { FastifyInstance } from 'fastify'
import type { Slot } from './events.js'

/** The name of the hook that Fastify adds to a HEAD route of its own. */
export const HEAD_HOOK = 'headRouteOnSendHandler'

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

/** Calls `next` with a value: at once, or when its promise resolves. */
export function after<R> (
  value: unknown, next: (value: unknown) => R, failed?: (error: unknown) => R | void
): R | Promise<R | void> {
  return isPromise(value) ? value.then(next, failed) : next(value)
}

/** The listener that a hook of Hindsight belongs to. */
type ListenerMark = Pick<Slot, 'stage' | 'listener'>

const kMark = Symbol('hindsight.hook')
type OwnHook = object & { [kMark]?: ListenerMark | null }

/** Marks a hook as one of Hindsight's: it is not recorded as a hook of the application. */
export function ownHook<F extends object> (hook: F, mark: ListenerMark | null = null): F {
  return Object.defineProperty(hook, kMark, { value: mark })
}

/** Whether a hook is one of Hindsight's. */
export function isOwnHook (hook: OwnHook): boolean {
  return hook[kMark] !== undefined
}

/** The listener that a hook belongs to; null where it belongs to none. */
export function listenerOf (hook: OwnHook): ListenerMark | null {
  return hook[kMark] ?? null
}
