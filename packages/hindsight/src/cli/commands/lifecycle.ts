import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { resolve, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { presentItems, safeJson, visibleLine } from '../../view/text.js'
import { settlesWithin } from '../../call.js'
import { hintFor, type Command } from '../command.js'
import { firstDeclaration, placeOfFailedStart } from '../../errors/failed-start.js'
import { packageOf } from '../../errors/stack-frame.js'
import { messageOf } from '../../errors/thrown-value.js'
import { interceptHooks, isInternalHook, listenerOf } from '../../recording/hooks.js'
import { hookOrigin } from '../../recording/application-hooks.js'
import { RouteTable, type DeclaredRoute, type Hook } from '../../routing/route-table.js'

/** Milliseconds in which a file has to create its application and let it listen. */
const LOAD_TIMEOUT = 10_000
/** Milliseconds: in debug mode, Hindsight alone takes some seconds to load on a busy machine. */
const PLUGIN_TIMEOUT = 60_000
const CLOSE_TIMEOUT = 5_000
const STACK_DEPTH = 50
const CHANNEL = 'fastify.initialization'

export const lifecycle: Command = {
  args: '<file>',
  summary: 'print the hooks of each route in order',
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

/** Fastify's hooks and the handler, in the order of a request; the last three run only when something goes wrong. */
const ORDER: readonly string[] = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'handler', 'preSerialization', 'onSend', 'onResponse',
  'onError', 'onTimeout', 'onRequestAbort'
]

/** A hook, or the handler of a route. */
interface OrderedHook { stage: string, hook: string, place: string | null }

/** A route with its hooks and its handler in order. */
export interface RouteData {
  /** Method and URL. */
  route: string
  place: string | null
  hooks: OrderedHook[]
  /** What the route declares: JSON schemas by what they check. */
  schema: Record<string, unknown> | null
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
    const named = this.table.routes.map((route) => ({ route, name: nameOf(route, this.app) }))
    const routes = named.filter(({ name }) => wanted === undefined || name === wanted || name.endsWith(` ${wanted}`))
    if (wanted !== undefined && routes.length === 0) {
      throw new Error(`There is no route "${wanted}".${hintFor(wanted, named.map(({ name }) => name))}`)
    }
    return routes.map(({ route, name }) => {
      const { declaredAt, pluginName, options } = route
      const { shown, source: place } = placeOf(declaredAt as Error, pluginName)
      const hooks = this.table.hooksOf(route).map((one) => one.addedAt === undefined
        ? { ...one, shown: ['route', ...shown], source: place }
        : { ...one, ...placeOf(one.addedAt, one.pluginName) })
      const all = [...hooks, { stage: 'handler', hook: options.handler as Hook, shown, source: place }]
      return {
        route: name,
        place,
        hooks: ORDER.flatMap((stage) => all.filter((one) => one.stage === stage)).flatMap((one) => {
          const hook = textOf(one.hook, one.shown)
          if (hook === null) return []
          return [{ stage: one.stage, hook, place: one.source }]
        }),
        schema: JSON.parse(safeJson(options.schema ?? null)) as RouteData['schema']
      }
    })
  }
}

// Null for a hook of Hindsight that is not a listener: it is not part of the contract.
function textOf (hook: Hook, place: readonly string[]): string | null {
  if (isInternalHook(hook)) {
    const mark = listenerOf(hook)
    return mark && `${mark.stage} ${mark.listener}`
  }
  // A function without a name has that of its plugin or file.
  const [name = 'function', ...where] = [hook.name, ...place].filter((text) => text !== '')
  if (where.length === 0) return visibleLine(name)
  return visibleLine(`${name} (${where.join(', ')})`)
}

/**
 * Where a hook or a route was added: by the first call that is neither one of Hindsight nor of Fastify. `shown`: the
 * plugin and the file; `source`: `file:line`, relative to the working directory; null for code of packages.
 */
function placeOf (addedAt: Error, pluginName = ''): { shown: string[], source: string | null } {
  const { plugin, source } = hookOrigin(addedAt, pluginName)
  let place: string | null = null
  if (source !== undefined && packageOf(source) === null) place = relative(process.cwd(), source).split(sep).join('/')
  return { shown: presentItems([plugin, place?.replace(/:\d+$/, '')]), source: place }
}

function nameOf ({ methods, pattern }: DeclaredRoute, { supportedMethods }: FastifyInstance): string {
  const isAny = supportedMethods.every((one) => methods.includes(one))
  return visibleLine(`${isAny ? 'ANY' : methods.join('|')} ${pattern}`)
}
