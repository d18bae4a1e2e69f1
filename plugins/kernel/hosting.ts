import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import { registeredSoFar } from './other-plugins.js'
import { provide, provideValue, type Provided } from './provided-names.js'

export type CaughtHook = (...args: unknown[]) => unknown

/** The hooks that a plugin of the ecosystem wanted to add, by the name of the hook. */
export type CaughtHooks = Map<string, CaughtHook[]>

type HostedPlugin<Options> = (app: FastifyInstance, options: Options, done: (error?: Error) => void) => unknown

interface HostOptions {
  /** The plugin's own name, so that others who depend on it find it. */
  name: string
  /** Request decorators that the host provides itself. */
  withhold?: string[]
  /** Whether who asks if it is there may bring one of its own. */
  makesRoom?: boolean
  /** Sees each method of replies that the plugin brings, and gives what stands in its place. */
  replyMethod?: (name: string, method: CaughtHook) => CaughtHook
}

interface Decorators {
  instance: (property: string, value: unknown) => void
  request: (property: string, value: never) => void
  reply: (property: string | symbol, value: unknown) => void
}

// Who depends on a hosted plugin finds it; who would bring it with options of its own, where it is not there, is told what it would be told without.
function hideFromWhoAsks (app: FastifyInstance, name: string): void {
  const { hasPlugin } = app
  app.hasPlugin = function (this: FastifyInstance, asked) {
    if (asked !== name) return hasPlugin.call(this, asked)
    return registeredSoFar(this).filter((one) => one === asked).length > 1
  }
}

/**
 * Registers a plugin of the ecosystem with its decorators, but catches its hooks (and drops its routes),
 * so that a listener runs them at its own slot.
 */
export async function host<Options extends object> (
  app: FastifyInstance, plugin: HostedPlugin<Options>, options: Options, { name, withhold = [], makesRoom = false, replyMethod = (_name, method) => method }: HostOptions
): Promise<CaughtHooks> {
  let hooks: CaughtHooks = new Map()
  await app.register(fp(async function hosted (instance: FastifyInstance) {
    hooks = await caughtHooks(instance, plugin, options, {
      instance (property, value) {
        if (typeof value === 'function') provide(app, 'instance', property, value as Provided)
        else instance.decorate(property, value as never)
      },
      request (property, value) {
        if (withhold.includes(property)) return
        if (isProvided(value)) provide(app, 'request', property, value)
        else provideValue(app, 'request', property, value)
      },
      reply (property, value) {
        const own = typeof value === 'function' ? replyMethod(String(property), value as CaughtHook) : value
        if (typeof property === 'string' && isProvided(own)) provide(app, 'reply', property, own)
        else provideValue(app, 'reply', property, own)
      }
    })
  }, { name, fastify: '5.x' }))
  if (makesRoom) hideFromWhoAsks(app, name)
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

function isProvided (value: unknown): value is Provided {
  return typeof value === 'function' || (typeof value === 'object' && value !== null && 'getter' in value)
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
