import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance, FastifyPluginAsync, FastifyServerOptions } from 'fastify'
import { HookOrder } from '../../../plugins/kernel/hook-order.js'
import { isPromise } from '../../../plugins/kernel/promise.js'
import { CommandError } from '../command.js'

/** An application that was made by a file, ready. */
export interface Loaded {
  app: FastifyInstance
  order: HookOrder
}

/** Milliseconds in which a file makes its application, or has it listen. */
const PATIENCE = 10_000
/** What is loaded in debug mode alone takes its time on a machine that has other things to do. */
const PLUGIN_TIMEOUT = 60_000
const CLOSE_PATIENCE = 5_000
const STACK_DEPTH = 50
const CHANNEL = 'fastify.initialization'

type Make = (options: FastifyServerOptions) => FastifyInstance

/** Loads an application as fastify-cli would, or as the file itself makes it, until it is ready; it does not listen. */
export async function loadApplication (file: string, patience = PATIENCE): Promise<Loaded> {
  if (!existsSync(file)) throw new CommandError(`${file} is not there.`)
  const made: Loaded[] = []
  let onListen: (one: Loaded) => void = () => {}
  const listening = new Promise<Loaded>((resolve) => { onListen = resolve })
  const note = (message: unknown): void => {
    const { fastify: app } = message as { fastify: FastifyInstance }
    const one = { app, order: new HookOrder(app) }
    made.push(one)
    // What is printed may be written to a file.
    if (app.log.level !== undefined) app.log.level = 'silent'
    withoutPort(app, () => onListen(one))
  }
  // Places are read from stacks, in the coordinates of the source.
  process.setSourceMapsEnabled(true)
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, STACK_DEPTH)
  subscribe(CHANNEL, note)
  try {
    const { exported, options } = await load(file)
    if (made.length === 0 && typeof exported === 'function') return await asPlugin(file, exported as FastifyPluginAsync, options, made)
    const one = made.find(({ app }) => app === exported) ?? await Promise.race([listening, quiet(patience)]) ?? made[0]
    if (one === undefined) throw new CommandError(`${file} makes no Fastify instance and exports no plugin: its default export should be a function (app, options), or it should call Fastify itself.`)
    return await whenReady(file, one)
  } finally {
    unsubscribe(CHANNEL, note)
  }
}

/** Closes an application, which may never come to its end. */
export async function closed (app: FastifyInstance, patience = CLOSE_PATIENCE): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => { timer = setTimeout(resolve, patience) })
  await Promise.race([app.close().then(() => {}, () => {}), late])
  clearTimeout(timer)
}

async function load (file: string): Promise<{ exported: unknown, options: object }> {
  try {
    const module = await import(pathToFileURL(resolve(file)).href) as { default?: unknown, options?: object }
    // A CommonJS module that was compiled from one of ECMAScript has its default export within.
    const inner = module.default as { default?: unknown, options?: object } | undefined
    const exported = typeof inner?.default === 'function' ? inner.default : module.default
    return { exported: isPromise(exported) && !isInstance(exported) ? await exported : exported, options: module.options ?? inner?.options ?? {} }
  } catch (error) {
    throw new CommandError(`${file} cannot be loaded: ${whyNotLoaded(error)}`)
  }
}

/** Why a file cannot be loaded, for whoever named it. */
export function whyNotLoaded (error: unknown): string {
  const message = messageOf(error)
  if ((error as NodeJS.ErrnoException | null)?.code !== 'ERR_UNKNOWN_FILE_EXTENSION' || !/"\.[cm]?tsx?"/.test(message)) return message
  return `Node.js ${process.version} reads no TypeScript without a loader, such as tsx: NODE_OPTIONS=--import=tsx npx hindsight lifecycle …`
}

// An instance of Fastify is a thenable until it is ready.
function isInstance (value: unknown): boolean {
  return typeof (value as { addHook?: unknown }).addHook === 'function'
}

async function asPlugin (file: string, plugin: FastifyPluginAsync, options: FastifyServerOptions, made: Loaded[]): Promise<Loaded> {
  const make = await fastifyOf(file)
  const { logger, loggerInstance } = options
  make({ pluginTimeout: PLUGIN_TIMEOUT, ...options, ...(logger === undefined && loggerInstance === undefined && { logger: { level: 'silent' } }) })
  const [one] = made
  if (one === undefined) throw new CommandError(`${file}: its Fastify is too old to be observed; version 5 is needed.`)
  one.app.register(plugin, options)
  const isPlugin = (): boolean => made.length === 1 || one.order.routes().length > 0
  const ready = await whenReady(file, one).catch((error: unknown) => { if (isPlugin()) throw error })
  if (ready !== undefined && isPlugin()) return ready
  throw new CommandError(`${file}: its default export makes an application of its own rather than being a plugin (app, options): name a file that calls it.`)
}

// The copy that the application uses.
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

// Whoever listens is told that it does, as soon as it could; where it could not, the command says why.
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

// A process that has nothing left to do has made all that it will make.
function quiet (patience: number): Promise<null> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      process.removeListener('beforeExit', over)
      setImmediate(resolve, null)
    }
    const timer = setTimeout(over, patience)
    timer.unref()
    process.once('beforeExit', over)
  })
}

function messageOf (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
