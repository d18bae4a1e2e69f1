import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Slot } from './events.js'
import { appliesIn } from '../routing/route-table.js'
import { traceOf } from './trace.js'

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
export function callAfter<R> (
  value: unknown, next: (value: unknown) => R, failed?: (error: unknown) => R | void
): R | Promise<R | void> {
  return isPromise(value) ? value.then(next, failed) : next(value)
}

/** The listener that a hook of Hindsight belongs to. */
type ListenerMark = Pick<Slot, 'stage' | 'listener'>

const kMark = Symbol('hindsight.hook')
type MarkedHook = object & { [kMark]?: ListenerMark | null }

/** Marks a hook as one of Hindsight's: it is not recorded as a hook of the application. */
export function internalHook<F extends object> (hook: F, mark: ListenerMark | null = null): F {
  return Object.defineProperty(hook, kMark, { value: mark })
}

/** Whether a hook is one of Hindsight's. */
export function isInternalHook (hook: MarkedHook): boolean {
  return hook[kMark] !== undefined
}

/** The listener that a hook belongs to; null where it belongs to none. */
export function listenerOf (hook: MarkedHook): ListenerMark | null {
  return hook[kMark] ?? null
}

type LastHookName = 'preValidation' | 'preHandler' | 'preSerialization' | 'onSend'

/** Makes one copy of a hook; `isLast` is true for the copy after which no further hook of the instance runs. */
type MakeHook = (isLast: (request: FastifyRequest) => boolean) => (...args: never[]) => unknown

/**
 * A hook that acts after the hooks of its name that the application adds, now or later: it is added again after each of
 * them, and only the last copy in the scope of a request acts. Hooks of a route come after it.
 */
export class LastHook {
  readonly #name: LastHookName
  readonly #make: MakeHook
  /** In the order in which Fastify runs them. */
  readonly #copies: Array<{ instance: FastifyInstance, hook: object }> = []

  constructor (name: LastHookName, make: MakeHook) {
    this.#name = name
    this.#make = make
  }

  /** Adds a copy to an instance. */
  addTo (instance: FastifyInstance): void {
    const isLast = (request: FastifyRequest): boolean => this.#lastIn(traceOf(request).scope) === hook
    const hook: object = internalHook(this.#make(isLast))
    instance.addHook(this.#name as 'onSend', hook as never)
    // Fastify adds hooks in the order of its queue, which is not that of the calls.
    instance.after(() => { this.#copies.push({ instance, hook }) })
  }

  #lastIn (scope: FastifyInstance): object | undefined {
    return this.#copies.findLast(({ instance }) => appliesIn(instance, scope))?.hook
  }
}
