import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance, FastifyPluginAsync, FastifyServerOptions } from 'fastify'
import { CommandError, messageOf } from '../command.js'
import { HookOrder } from './hook-order.js'

/** An application that a file created, and the record of its hooks and routes. */
export interface Loaded {
  app: FastifyInstance
  order: HookOrder
}

/** Milliseconds in which a file has to create its application and let it listen. */
const LOAD_TIMEOUT = 10_000
/** Milliseconds: in debug mode, Hindsight alone takes some seconds to load on a busy machine. */
const PLUGIN_TIMEOUT = 60_000
const CLOSE_TIMEOUT = 5_000
const STACK_DEPTH = 50
const CHANNEL = 'fastify.initialization'

/**
 * Loads the application of a file until it is ready; it does not listen. The file exports a plugin, as for fastify-cli,
 * a function that makes an application, or makes one itself. Throws a `CommandError` with the reason when that fails.
 */
export async function loadApplication (file: string, timeout = LOAD_TIMEOUT): Promise<Loaded> {
  if (!existsSync(file)) throw new CommandError(`${file} does not exist.`)
  const made: Loaded[] = []
  let onListen: (one: Loaded) => void = () => {}
  const listening = new Promise<Loaded>((resolve) => { onListen = resolve })
  const record = (message: unknown): void => {
    const { fastify: app } = message as { fastify: FastifyInstance }
    const one = { app, order: new HookOrder(app) }
    made.push(one)
    // The output of the command may be redirected to a file.
    if (app.log.level !== undefined) app.log.level = 'silent'
    replaceListen(app, () => onListen(one))
  }
  // The places of hooks are read from stacks: they have to be those of the source.
  process.setSourceMapsEnabled(true)
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, STACK_DEPTH)
  subscribe(CHANNEL, record)
  try {
    const { exported, options } = await importFile(file)
    const isFunction = made.length === 0 && typeof exported === 'function'
    if (isFunction) {
      const { default: Fastify } = await import('fastify')
      const app = Fastify({ pluginTimeout: PLUGIN_TIMEOUT, ...options })
      await app.register(exported as FastifyPluginAsync, options).ready()
    }
    const one = isFunction
      // The function may have made an application of its own: then the one that it is registered in has no routes.
      ? made.find(({ order }) => order.routes().length > 0) ?? made[0]
      : made.find(({ app }) => app === exported) ?? await within(timeout, listening) ?? made[0]
    if (one === undefined) {
      throw new Error('it makes no Fastify instance and exports no plugin. Its default export should be a function ' +
        '(app, options), or it should call Fastify itself.')
    }
    await one.app.ready()
    return one
  } catch (error) {
    throw new CommandError(`${file} cannot be loaded: ${messageOf(error)}`)
  } finally {
    unsubscribe(CHANNEL, record)
  }
}

async function importFile (file: string): Promise<{ exported: unknown, options: FastifyServerOptions }> {
  interface Module { default?: unknown, options?: FastifyServerOptions }
  const module = await import(pathToFileURL(resolve(file)).href) as Module
  // In a CommonJS module that was compiled from an ECMAScript module, the default export is a property.
  const inner = module.default as Module | undefined
  const exported = typeof inner?.default === 'function' ? inner.default : module.default
  // An instance of Fastify is a thenable: it is not awaited before its hooks are recorded.
  const isPromise = exported instanceof Promise
  return { exported: isPromise ? await exported : exported, options: module.options ?? inner?.options ?? {} }
}

// `listen` makes the application ready and calls back without a port. When it does not become ready, the command
// reports the reason.
function replaceListen (app: FastifyInstance, onListen: () => void): void {
  const address = 'http://127.0.0.1:0'
  app.listen = function listen (...args: unknown[]) {
    onListen()
    app.server.address = () => ({ address: '127.0.0.1', family: 'IPv4', port: 0 })
    const listened = new Promise<string>((resolve) => { app.ready().then(() => resolve(address), () => {}) })
    const done = args.at(-1)
    if (typeof done !== 'function') return listened
    listened.then(() => { (done as (error: null, address: string) => void)(null, address) }, () => {})
  } as typeof app.listen
}

// Undefined after the timeout, which keeps the process running until then.
async function within<T> (timeout: number, promise: Promise<T>): Promise<T | undefined> {
  const timer = new AbortController()
  try {
    return await Promise.race([promise, sleep(timeout, undefined, { signal: timer.signal })])
  } finally {
    timer.abort()
  }
}

/** Closes an application, or gives up after the timeout. */
export async function closeApplication (app: FastifyInstance, timeout = CLOSE_TIMEOUT): Promise<void> {
  await within(timeout, app.close().then(() => {}, () => {}))
}
