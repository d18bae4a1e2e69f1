import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'

type CollectedHook = (...args: unknown[]) => unknown

/** The hooks that a plugin of the ecosystem adds, by the name of the hook. */
type CollectedHooks = Record<string, CollectedHook[]>

type HostedPlugin<Options> = (app: FastifyInstance, options: Options, done: (error?: Error) => void) => unknown

/**
 * Registers a plugin of the ecosystem with its decorators, but without its hooks and routes: it receives a facade of
 * the instance that collects hooks. Resolves to the hooks, which a listener runs at its slot. `name`: the name under
 * which it is registered; `ignoredDecorators`: names that Hindsight decorates itself.
 */
export async function collectHooks<Options extends object> (
  app: FastifyInstance, plugin: HostedPlugin<Options>, options: Options,
  { name, ignoredDecorators = [] }: { name: string, ignoredDecorators?: readonly string[] }
): Promise<CollectedHooks> {
  const hooks: CollectedHooks = {}
  await app.register(fp(async function hosted (instance: FastifyInstance) {
    const facade: FastifyInstance = new Proxy(instance, {
      get (target, key) {
        const value: unknown = Reflect.get(target, key)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          const [first, second] = args as [string, CollectedHook]
          if (key === 'addHook') hooks[first] = [...hooks[first] ?? [], second]
          const isIgnored = key === 'addHook' || key === 'route' || key === 'options' ||
            (String(key).startsWith('decorate') && ignoredDecorators.includes(first))
          const result: unknown = isIgnored ? facade : value.apply(target, args)
          return result === target ? facade : result
        }
      }
    })
    await new Promise<void>((resolve, reject) => {
      const result = plugin(facade, options, (error) => error ? reject(error) : resolve())
      if (result instanceof Promise) result.then(() => resolve(), reject)
    })
  }, { name, fastify: '5.x' }))
  return hooks
}

/** Runs collected hooks one after the other; returns a promise only where one of them does not call back at once. */
export function runHooks (hooks: readonly CollectedHook[], ...args: unknown[]): undefined | Promise<void> {
  for (let i = 0; i < hooks.length; i++) {
    const running = runHook(hooks[i] as CollectedHook, args)
    if (running !== undefined) return running.then(() => runHooks(hooks.slice(i + 1), ...args))
  }
}

function runHook (hook: CollectedHook, args: unknown[]): undefined | Promise<unknown> {
  const call: { error?: unknown, resume?: () => void } = {}
  const result = hook(...args, (error: unknown = null) => {
    call.error = error
    call.resume?.()
  })
  if (result instanceof Promise) return result
  if (call.error !== undefined) return endCall(call)
  return new Promise<void>((resolve) => { call.resume = resolve }).then(() => endCall(call))
}

function endCall ({ error }: { error?: unknown }): undefined {
  if (error !== null) throw error
}
