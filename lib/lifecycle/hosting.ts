import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'

export type CaughtHook = (...args: unknown[]) => unknown

/** The hooks that a plugin of the ecosystem wanted to add, by the name of the hook. */
export type CaughtHooks = Map<string, CaughtHook[]>

type HostedPlugin<Options> = (app: FastifyInstance, options: Options, done: (error?: Error) => void) => unknown

interface HostOptions {
  /** The plugin's own name, so that others who depend on it find it. */
  name: string
  /** Request decorators that the host provides itself. */
  withhold?: string[]
}

interface Decorators {
  instance: (property: string, value: unknown) => void
  request: (property: string, value: never) => void
  reply: (property: string | symbol, value: unknown) => void
}

/**
 * Registers a plugin of the ecosystem with its decorators, but catches its hooks (and drops its routes),
 * so that a listener runs them at its own slot.
 */
export async function host<Options extends object> (
  app: FastifyInstance, plugin: HostedPlugin<Options>, options: Options, { name, withhold = [] }: HostOptions
): Promise<CaughtHooks> {
  let hooks: CaughtHooks = new Map()
  await app.register(fp(async function hosted (instance: FastifyInstance) {
    hooks = await caughtHooks(instance, plugin, options, {
      instance (property, value) { instance.decorate(property, value as never) },
      request (property, value) { if (!withhold.includes(property)) instance.decorateRequest(property as never, value) },
      reply (property, value) { instance.decorateReply(property as never, value as never) }
    })
  }, { name, fastify: '5.x' }))
  return hooks
}

/** Runs a plugin only to learn which hooks it would add. */
export async function caughtHooks<Options extends object> (
  app: FastifyInstance,
  plugin: HostedPlugin<Options>,
  options: Options,
  decorators: Decorators | null = null
): Promise<CaughtHooks> {
  const hooks: CaughtHooks = new Map()
  const view: FastifyInstance = new Proxy(app, {
    get (target, key) {
      if (key === 'addHook') return catchHook
      if (key === 'route' || key === 'options') return () => view
      if (key === 'decorate' && decorators !== null) return (property: string, value: unknown) => { decorators.instance(property, value); return view }
      if (key === 'decorateRequest') return (property: string, value: never) => { decorators?.request(property, value); return view }
      if (key === 'decorateReply') return (property: string | symbol, value: unknown) => { decorators?.reply(property, value); return view }
      if (decorators === null && typeof key === 'string' && key.startsWith('decorate')) return () => view
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    }
  })
  function catchHook (hook: string, fn: CaughtHook): FastifyInstance {
    hooks.set(hook, [...hooks.get(hook) ?? [], fn])
    return view
  }
  await new Promise<void>((resolve, reject) => {
    const result = plugin(view, options, (error) => error ? reject(error) : resolve())
    if (result instanceof Promise) result.then(() => resolve(), reject)
  })
  return hooks
}

/** Runs caught hooks one after the other; stays synchronous as long as each of them calls back at once. */
export function runHooks (hooks: readonly CaughtHook[], ...args: unknown[]): undefined | Promise<void> {
  for (let i = 0; i < hooks.length; i++) {
    const running = runHook(hooks[i] as CaughtHook, args)
    if (running !== undefined) return running.then(() => runHooks(hooks.slice(i + 1), ...args))
  }
  return undefined
}

function runHook (hook: CaughtHook, args: unknown[]): undefined | Promise<unknown> {
  let settled = false
  let failure: unknown = null
  let settle: (() => void) | null = null
  const result = hook(...args, (error?: unknown) => {
    settled = true
    failure = error ?? null
    settle?.()
  })
  if (result instanceof Promise) return result
  if (!settled) {
    return new Promise<void>((resolve, reject) => {
      settle = () => failure === null ? resolve() : reject(failure)
    })
  }
  if (failure !== null) throw failure
  return undefined
}
