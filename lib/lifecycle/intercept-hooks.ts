import type { FastifyInstance } from 'fastify'

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
