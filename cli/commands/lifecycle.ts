import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFile } from 'node:fs/promises'
import { resolve, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createTwoFilesPatch } from 'diff'
import type { FastifyInstance, FastifyPluginAsync, RouteOptions } from 'fastify'
import { visibleLine } from '../../lib/view/visible.js'
import type { Command } from '../command.js'
import type { Terminal } from '../terminal.js'
import { placeOfFailedStart } from '../../lib/errors/failed-start.js'
import { packageOf } from '../../lib/errors/stack-frame.js'
import { messageOf } from '../../lib/errors/thrown-value.js'
import { interceptHooks } from '../../lib/lifecycle/hooks.js'
import { isOwnHook, listenerOf } from '../../lib/lifecycle/hooks.js'
import { nameOfPlugin, placeOf as declarationOf } from '../../lib/recording/application-hooks.js'
import { settlesWithin } from '../../lib/store/write-queue.js'

/** Milliseconds in which a file has to create its application and let it listen. */
const LOAD_TIMEOUT = 10_000
/** Milliseconds: in debug mode, Hindsight alone takes some seconds to load on a busy machine. */
const PLUGIN_TIMEOUT = 60_000
const CLOSE_TIMEOUT = 5_000
const STACK_DEPTH = 50
const CHANNEL = 'fastify.initialization'

export const lifecycle: Command = {
  args: '<file>',
  summary: 'print the hooks of each route in order, or check them',
  options: {
    route: { type: 'string', help: 'only this route, such as "GET /articles/:id"' },
    check: { type: 'string', help: 'a file of earlier output: exit code 1 if not equal' }
  },
  run: async ({ args: [file = ''], flags, terminal }) => {
    const { route, check } = flags as { route?: string, check?: string }
    const lines = await orderOf(file, route)
    if (check === undefined) await terminal.lines(lines)
    else await compare(check, lines, terminal)
  }
}

// The output of the command may be redirected to a file: what the application prints must not be part of it.
async function orderOf (file: string, route: string | undefined): Promise<string[]> {
  const { stdout, stderr } = process
  const { write } = stdout
  stdout.write = stderr.write.bind(stderr) as typeof write
  try {
    const order = await loadApplication(file)
    const lines = order.lines(route)
    await settlesWithin(order.app.close().catch(() => {}), CLOSE_TIMEOUT)
    return lines
  } finally {
    stdout.write = write
  }
}

async function compare (file: string, lines: readonly string[], terminal: Terminal): Promise<void> {
  const stored = await readFile(file, 'utf8')
  // Git may have changed the line ends.
  const before = `${stored.replaceAll('\r\n', '\n').trimEnd()}\n`
  const now = `${lines.join('\n')}\n`
  if (before === now) return await terminal.lines([`The order is the same as in ${visibleLine(file)}.`])
  const patch = createTwoFilesPatch(file, 'as it runs now', before, now)
  await terminal.lines(patch.trimEnd().split('\n').map(visibleLine))
  throw new Error(`The order is not the same as in ${file}. If that is intended, write the new output to the file.`)
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
    const routes = made.flatMap(({ app }) => app.hasDecorator('hindsight') ? app.hindsight.routeTable.routes : [])
    const place = placeOfFailedStart(error, routes)
    throw new Error(`${file} cannot be loaded: ${messageOf(error)}${place && ` (${place})`}`)
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
const ORDER = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'handler', 'preSerialization', 'onSend', 'onResponse',
  'onError', 'onTimeout', 'onRequestAbort'
] as const

type HookName = typeof ORDER[number]
type Hook = (...args: never[]) => unknown

interface DeclaredRoute {
  instance: FastifyInstance
  route: RouteOptions
  /** Method and URL. It is a copy: Fastify changes `route.url` of a route with and without a slash. */
  name: string
  /** What is printed in parentheses: the plugin and the file. */
  place: string[]
}

/** Records the hooks and routes of an application. Create it before the first of them is added. */
class HookOrder {
  readonly app: FastifyInstance
  readonly #hooks: Array<{ instance: FastifyInstance, name: string, text: string }> = []
  readonly #routes: DeclaredRoute[] = []

  constructor (app: FastifyInstance) {
    this.app = app
    const hooks = this.#hooks
    const routes = this.#routes
    app.addHook('onRoute', function recordRoute (this: FastifyInstance, route: RouteOptions) {
      routes.push({ instance: this, route, name: nameOf(route, app), place: placeHere(this) })
    })
    interceptHooks(app, (instance, name, hook, add) => {
      add(hook)
      const isOfRequests = (ORDER as readonly string[]).includes(name)
      const text = isOfRequests ? textOf(hook as Hook, placeHere(instance)) : null
      // Fastify adds the hook when its queue reaches it, and calls this callback next. Without arguments, the
      // callback leaves an error of the queue to Fastify.
      if (text !== null) instance.after(() => { hooks.push({ instance, name, text }) })
    })
  }

  /**
   * The lines of the output: each route with its hooks and its handler in order. The application must be ready. Line
   * numbers and files of packages are left out, so that only another order changes it. Throws for an unknown route.
   */
  lines (name?: string): string[] {
    const routes = this.#routes.filter((route) => isDeclared(route) && (name === undefined || route.name === name))
    if (name !== undefined && routes.length === 0) throw new Error(`There is no route "${name}".`)
    return routes.flatMap((route) =>
      ['', route.name, ...ORDER.flatMap((hook) => this.#hookLines(hook, route))]).slice(1)
  }

  #hookLines (name: HookName, { instance, route, place }: DeclaredRoute): string[] {
    const ofInstances = this.#hooks.filter((hook) => hook.name === name && covers(hook.instance, instance))
    const ofRoute = hooksOf(route, name).flatMap((hook) =>
      textOf(hook, name === 'handler' ? place : ['route', ...place]) ?? [])
    const texts = [...ofInstances.map(({ text }) => text), ...ofRoute]
    return texts.length === 0 ? [] : [`  ${name}`, ...texts.map((text) => `    ${text}`)]
  }
}

// Null for a hook of Hindsight that is not a listener: it is not part of the contract.
function textOf (hook: Hook, place: readonly string[]): string | null {
  if (isOwnHook(hook)) {
    const mark = listenerOf(hook)
    return mark === null ? null : `${mark.stage} ${mark.listener}`
  }
  const suffix = place.length === 0 ? '' : ` (${place.join(', ')})`
  return visibleLine(`${hook.name || 'anonymous'}${suffix}`)
}

// The hook or route was added by the first function of the stack that is neither Hindsight's nor Fastify's.
function placeHere (instance: FastifyInstance): string[] {
  const { plugin, source } = declarationOf(new Error('Added here'), nameOfPlugin(instance))
  const file = source === undefined || packageOf(source) !== null
    ? undefined
    : relative(process.cwd(), source.replace(/:\d+$/, '')).split(sep).join('/')
  return [plugin, file].filter((part) => part !== undefined)
}

function nameOf ({ method, url }: RouteOptions, { supportedMethods }: FastifyInstance): string {
  const methods = [method].flat()
  const isAny = supportedMethods.every((one) => methods.includes(one))
  return visibleLine(`${isAny ? 'ANY' : methods.join('|')} ${url}`)
}

// The other routes are pages of Hindsight, and HEAD routes that Fastify added, with an `onSend` hook of this name.
function isDeclared ({ route }: DeclaredRoute): boolean {
  const { ownOriginOnly, debugOnly } = (route.config ?? {}) as { ownOriginOnly?: boolean, debugOnly?: boolean }
  return ownOriginOnly !== true && debugOnly !== true &&
    !hooksOf(route, 'onSend').some(({ name }) => name === 'headRouteOnSendHandler')
}

// Encapsulated instances inherit the hooks of their parent, also later ones. The prototype of a child is its parent.
function covers (adder: FastifyInstance, instance: FastifyInstance): boolean {
  return adder === instance || Object.prototype.isPrototypeOf.call(adder, instance)
}

function hooksOf (route: RouteOptions, name: HookName): Hook[] {
  return [route[name] as Hook | Hook[] | null | undefined ?? []].flat().filter((hook) => typeof hook === 'function')
}
