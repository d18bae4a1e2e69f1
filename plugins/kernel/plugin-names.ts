import { isAbsolute } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { like } from './stand-in.js'
import { isPromise } from './promise.js'

const SHARES = Symbol.for('skip-override')
const NAME = Symbol.for('fastify.display-name')

type Plugin = ((this: unknown, ...args: never[]) => unknown) & { [SHARES]?: unknown, [NAME]?: unknown, default?: unknown }

/**
 * Knows which plugin is at work: an instance that plugins share tells which of them were registered, not which of them adds a hook or whether
 * they are over and the application itself does.
 */
export class PluginNames {
  readonly #atWork = new WeakMap<object, Array<{ name: string }>>()

  constructor (app: FastifyInstance) {
    const { register } = app
    const watched = (plugin: unknown): unknown => isShared(plugin) ? this.#watched(plugin) : plugin
    app.register = function (this: FastifyInstance, plugin: unknown, ...rest: never[]) {
      return (register as (...args: unknown[]) => unknown).call(this, watched(plugin), ...rest)
    } as unknown as typeof register
  }

  /** The name of the plugin that is at work on an instance; null for the application itself, and for ourselves. */
  of (instance: FastifyInstance): string | null {
    const name = this.#atWork.get(instance)?.at(-1)?.name ?? instance.pluginName.split(' -> ')[0] ?? ''
    // A plugin without a name has its path, its source, or that it is exported for one.
    if (name === '' || name === 'fastify' || name === 'default' || isAbsolute(name) || /[(){}]|=>/.test(name)) return null
    // fastify-plugin counts those without a name.
    return /^(?:fastify-hindsight|hindsight[/-])/.test(name) ? null : name.replace(/-auto-\d+$/, '')
  }

  #watched (plugin: Plugin): Plugin {
    const begin = (instance: object): () => void => {
      const entry = { name: String(plugin[NAME] ?? '') }
      const entries = this.#atWork.get(instance) ?? []
      this.#atWork.set(instance, entries)
      entries.push(entry)
      return () => {
        const at = entries.indexOf(entry)
        if (at !== -1) entries.splice(at, 1)
      }
    }
    const wrapper = like<Plugin>(plugin, function (this: unknown, ...args: never[]) {
      const end = begin(args[0] as unknown as object)
      const done: unknown = args[2]
      if (plugin.length > 2 && typeof done === 'function') {
        args[2] = ((...results: unknown[]) => { end(); (done as (...results: unknown[]) => void)(...results) }) as never
      }
      const result = plugin.apply(this, args)
      if (isPromise(result)) result.then(end, end)
      else if (plugin.length < 3) end()
      return result
    })
    for (const key of Reflect.ownKeys(plugin)) {
      if (key !== 'length' && key !== 'name' && key !== 'prototype') Object.defineProperty(wrapper, key, Object.getOwnPropertyDescriptor(plugin, key) as PropertyDescriptor)
    }
    return wrapper
  }
}

function isShared (plugin: unknown): plugin is Plugin {
  return typeof plugin === 'function' && SHARES in plugin && Boolean(plugin[SHARES])
}
