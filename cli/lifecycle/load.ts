import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance, FastifyPluginAsync, FastifyServerOptions } from 'fastify'
import { isPromise } from '../../lib/lifecycle/listener.js'
import { CommandError } from '../command.js'
import { HookOrder } from './hook-order.js'

/** An application that a file created, and what was recorded of its hooks and routes. */
export interface Loaded {
  app: FastifyInstance
  order: HookOrder
}

/** Milliseconds in which a file has to create its application, or let it listen. */
const LOAD_TIMEOUT = 10_000
/** Milliseconds: in debug mode, Hindsight alone takes some seconds to load on a busy machine. */
const PLUGIN_TIMEOUT = 60_000
const CLOSE_TIMEOUT = 5_000
const STACK_DEPTH = 50
const CHANNEL = 'fastify.initialization'

type Make = (options: FastifyServerOptions) => FastifyInstance

/**
 * Loads the application of a file until it is ready; it does not listen. The file exports a plugin, as for fastify-cli,
 * or creates a Fastify instance. Throws a `CommandError` with the reason when that fails.
 */
export async function loadApplication (file: string, timeout = LOAD_TIMEOUT): Promise<Loaded> {
  if (!existsSync(file)) throw new CommandError(`${file} is not there.`)
  const made: Loaded[] = []
  let onListen: (one: Loaded) => void = () => {}
  const listening = new Promise<Loaded>((resolve) => { onListen = resolve })
  const note = (message: unknown): void => {
    const { fastify: app } = message as { fastify: FastifyInstance }
    const one = { app, order: new HookOrder(app) }
    made.push(one)
    // The output of the command may be redirected to a file.
    if (app.log.level !== undefined) app.log.level = 'silent'
    withoutPort(app, () => onListen(one))
  }
  // The places of hooks are read from stacks: they have to be those of the source.
  process.setSourceMapsEnabled(true)
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, STACK_DEPTH)
  subscribe(CHANNEL, note)
  try {
    const { exported, options } = await load(file)
    if (made.length === 0 && typeof exported === 'function') {
      return await asPlugin(file, exported as FastifyPluginAsync, options, made)
    }
    const one = made.find(({ app }) => app === exported) ?? await Promise.race([listening, settled(timeout)]) ?? made[0]
    if (one === undefined) {
      throw new CommandError(`${file} makes no Fastify instance and exports no plugin: its default export should be ` +
        'a function (app, options), or it should call Fastify itself.')
    }
    return await whenReady(file, one)
  } finally {
    unsubscribe(CHANNEL, note)
  }
}

/** Closes an application, or gives up after the timeout. */
export async function closeApplication (app: FastifyInstance, timeout = CLOSE_TIMEOUT): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => { timer = setTimeout(resolve, timeout) })
  await Promise.race([app.close().then(() => {}, () => {}), late])
  clearTimeout(timer)
}

async function load (file: string): Promise<{ exported: unknown, options: object }> {
  try {
    const module = await import(pathToFileURL(resolve(file)).href) as { default?: unknown, options?: object }
    // In a CommonJS module that was compiled from an ECMAScript module, the default export is a property.
    const inner = module.default as { default?: unknown, options?: object } | undefined
    const exported = typeof inner?.default === 'function' ? inner.default : module.default
    return {
      exported: isPromise(exported) && !isInstance(exported) ? await exported : exported,
      options: module.options ?? inner?.options ?? {}
    }
  } catch (error) {
    throw new CommandError(`${file} cannot be loaded: ${whyNotLoaded(error)}`)
  }
}

/** Why a file cannot be loaded: the message of the error, or what to do about TypeScript. */
export function whyNotLoaded (error: unknown): string {
  const message = messageOf(error)
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  if (code !== 'ERR_UNKNOWN_FILE_EXTENSION' || !/"\.[cm]?tsx?"/.test(message)) return message
  return `Node.js ${process.version} reads no TypeScript without a loader, such as tsx: ` +
    'NODE_OPTIONS=--import=tsx npx fastify-hindsight lifecycle …'
}

// An instance of Fastify is a thenable until it is ready.
function isInstance (value: unknown): boolean {
  return typeof (value as { addHook?: unknown }).addHook === 'function'
}

async function asPlugin (
  file: string, plugin: FastifyPluginAsync, options: FastifyServerOptions, made: Loaded[]
): Promise<Loaded> {
  const make = await fastifyOf(file)
  const { logger, loggerInstance } = options
  const hasLogger = logger !== undefined || loggerInstance !== undefined
  make({ pluginTimeout: PLUGIN_TIMEOUT, ...options, ...(!hasLogger && { logger: { level: 'silent' } }) })
  const [one] = made
  if (one === undefined) throw new CommandError(`${file}: its Fastify is too old to be observed; version 5 is needed.`)
  one.app.register(plugin, options)
  const isPlugin = (): boolean => made.length === 1 || one.order.routes().length > 0
  const ready = await whenReady(file, one).catch((error: unknown) => { if (isPlugin()) throw error })
  if (ready !== undefined && isPlugin()) return ready
  throw new CommandError(`${file}: its default export makes an application of its own rather than being a plugin ` +
    '(app, options): name a file that calls it.')
}

// The copy of Fastify that the application uses.
async function fastifyOf (file: string): Promise<Make> {
  try {
    return createRequire(resolve(file))('fastify') as Make
  } catch {
    return (await import('fastify')).default as unknown as Make
  }
}

async function whenReady (file: string, one: Loaded): Promise<Loaded> {
  try {
    await one.app.ready()
    return one
  } catch (error) {
    throw new CommandError(`${file} does not become ready: ${messageOf(error)}`)
  }
}

// `listen` calls back when the application is ready, without a port. When it does not become ready, the command
// reports the reason.
function withoutPort (app: FastifyInstance, onListen: () => void): void {
  const address = 'http://127.0.0.1:0'
  app.listen = function listen (...args: unknown[]) {
    onListen()
    app.server.address = () => ({ address: '127.0.0.1', family: 'IPv4', port: 0 })
    const done = args.at(-1)
    const listened = new Promise<string>((resolve) => { app.ready().then(() => resolve(address), () => {}) })
    if (typeof done !== 'function') return listened
    listened.then(() => { (done as (error: null, address: string) => void)(null, address) }, () => {})
  } as typeof app.listen
}

// Resolves when the process has nothing left to do, as no application is created after that, or after the timeout.
function settled (timeout: number): Promise<null> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      process.removeListener('beforeExit', over)
      setImmediate(resolve, null)
    }
    const timer = setTimeout(over, timeout)
    timer.unref()
    process.once('beforeExit', over)
  })
}

function messageOf (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
