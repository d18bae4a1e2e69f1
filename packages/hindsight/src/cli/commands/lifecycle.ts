import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { settlesWithin } from '../../call.js'
import type { Command } from '../command.js'
import { firstDeclaration, placeOfFailedStart } from '../../errors/failed-start.js'
import { messageOf } from '../../errors/thrown-value.js'
import { ORDER, routesInOrder, type RouteData } from '../../reading/hook-order.js'
import { interceptHooks } from '../../recording/hooks.js'
import { RouteTable } from '../../routing/route-table.js'

/** Milliseconds in which a file has to create its application and let it listen. */
const LOAD_TIMEOUT = 10_000
/** Milliseconds: in debug mode, Hindsight alone takes some seconds to load on a busy machine. */
const PLUGIN_TIMEOUT = 60_000
const CLOSE_TIMEOUT = 5_000
const STACK_DEPTH = 50
const CHANNEL = 'fastify.initialization'

export const lifecycle: Command = {
  args: '<file>',
  options: {
    route: { type: 'string', help: 'only this route, such as "GET /articles/:id"' }
  },
  run: async ({ args: [file = ''], flags, print }) => {
    const { route } = flags as { route?: string }
    const { stdout, stderr } = process
    const { write } = stdout
    let order: HookOrder
    // The output of the command may be redirected to a file: what the application prints must not be part of it.
    stdout.write = stderr.write.bind(stderr) as typeof write
    try {
      order = await loadApplication(file)
      await settlesWithin(order.app.close().catch(() => {}), CLOSE_TIMEOUT)
    } finally {
      stdout.write = write
    }
    await print(order.data(route), () => order.lines(route))
  }
}

/**
 * Loads the application of a file until it is ready; it does not listen. The file exports a plugin, as for fastify-cli,
 * a function that makes an application, or makes one itself. Throws with the reason when that fails.
 */
export async function loadApplication (file: string, timeout = LOAD_TIMEOUT): Promise<HookOrder> {
  const made: HookOrder[] = []
  let onListen: (order: HookOrder) => void = () => {}
  const listening = new Promise<HookOrder>((resolve) => { onListen = resolve })
  const record = (message: unknown): void => {
    const { fastify: app } = message as { fastify: FastifyInstance }
    const order = new HookOrder(app)
    made.push(order)
    if (app.log.level !== undefined) app.log.level = 'silent'
    // All routes are declared. What the file does after it has begun to listen does not run.
    app.listen = () => {
      onListen(order)
      return new Promise(() => {})
    }
  }
  // The places of hooks are read from stacks: they have to be those of the source.
  process.setSourceMapsEnabled(true)
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, STACK_DEPTH)
  subscribe(CHANNEL, record)
  try {
    const exported = await Promise.race([importFile(file), listening])
    const isFunction = made.length === 0 && typeof exported === 'function'
    if (isFunction) {
      const { default: Fastify } = await import('fastify')
      await Fastify({ pluginTimeout: PLUGIN_TIMEOUT }).register(exported as FastifyPluginAsync).ready()
    }
    const order = made.find(({ app }) => app === exported) ??
      (!isFunction && await settlesWithin(listening, timeout) ? await listening : undefined) ??
      // The function may have made an application of its own: then the one that it is registered in has no routes.
      made.find((one) => one.lines().length > 0) ?? made[0]
    if (order === undefined) throw new Error('it makes no Fastify instance and exports no plugin.')
    await order.app.ready()
    return order
  } catch (error) {
    const tables = made.map(({ table }) => table)
    const first = firstDeclaration(error, tables)
    const places = [placeOfFailedStart(error, tables)]
    if (first !== undefined) places.push(`first declared at ${first}`)
    const shown = places.filter(Boolean).join(', ')
    throw new Error(`${file} cannot be loaded: ${messageOf(error)}${shown && ` (${shown})`}`)
  } finally {
    unsubscribe(CHANNEL, record)
  }
}

async function importFile (file: string): Promise<unknown> {
  const { default: exported } = await import(pathToFileURL(resolve(file)).href) as { default?: unknown }
  // In a CommonJS module that was compiled from an ECMAScript module, the default export is a property.
  const compiled = (exported as { default?: unknown } | undefined)?.default
  return typeof compiled === 'function' ? compiled : exported
}

/** Records the hooks and routes of an application. Create it before the first of them is added. */
class HookOrder {
  readonly app: FastifyInstance
  readonly table: RouteTable

  constructor (app: FastifyInstance) {
    this.app = app
    this.table = new RouteTable(app)
    this.table.observe(app, true)
    interceptHooks(app, (instance, stage, hook, add) => {
      add(hook)
      if (ORDER.includes(stage)) this.table.addHook(instance, stage, hook)
    })
  }

  /**
   * The lines of the output: each route with its hooks and its handler in order. The application must be ready. Line
   * numbers and files of packages are left out, so that only another order changes it. Throws for an unknown route.
   */
  lines (name?: string): string[] {
    const lines: string[] = []
    for (const { route, hooks } of this.data(name)) {
      lines.push('', route)
      for (const [i, { stage, hook }] of hooks.entries()) {
        if (stage !== hooks[i - 1]?.stage) lines.push(`  ${stage}`)
        lines.push(`    ${hook}`)
      }
    }
    return lines.slice(1)
  }

  /** The same as data, with lines of code and schemas. */
  data (wanted?: string): RouteData[] {
    return routesInOrder(this.table, wanted)
  }
}
