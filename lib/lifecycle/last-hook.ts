import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ownHook } from './hooks.js'
import { stateOf } from './request-state.js'

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
    const isLast = (request: FastifyRequest): boolean => this.#lastIn(stateOf(request).scope ?? request.server) === hook
    const hook: object = ownHook(this.#make(isLast))
    instance.addHook(this.#name as 'onSend', hook as never)
    // Fastify adds hooks in the order of its queue, which is not that of the calls.
    instance.after(() => { this.#copies.push({ instance, hook }) })
  }

  // The scope of an instance has the hooks of the instances around it, those that were added later included.
  #lastIn (scope: FastifyInstance): object | undefined {
    const isPrototypeOf = Object.prototype.isPrototypeOf
    return this.#copies.findLast(({ instance }) => instance === scope || isPrototypeOf.call(instance, scope))?.hook
  }
}
