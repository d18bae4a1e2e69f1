import { relative, sep } from 'node:path'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { packageOf } from '../../lib/errors/stack-frame.js'
import { isOwnHook, listenerOf } from '../../lib/lifecycle/listener.js'
import { nameOfPlugin, placeOf } from '../../lib/profiler/application-hooks.js'
import { visibleLine } from '../../lib/view/visible.js'

/** Fastify's hooks and the handler, in the order of a request; the last three run only when something goes wrong. */
const ORDER = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'handler', 'preSerialization', 'onSend', 'onResponse',
  'onError', 'onTimeout', 'onRequestAbort'
] as const

type HookName = typeof ORDER[number]

type Hook = (...args: never[]) => unknown

/** A route that the application declares. */
interface DeclaredRoute {
  instance: FastifyInstance
  route: RouteOptions
  /** Method and URL. It is a copy: Fastify changes `route.url` of a route with and without a slash. */
  name: string
  /** What is printed in parentheses: the plugin and the file. */
  place: string[]
}

/** The name of the `onSend` hook of HEAD routes that Fastify adds. */
const HEAD_HOOK = 'headRouteOnSendHandler'

/** Records the hooks and routes of an application. Create it before the first of them is added. */
export class HookOrder {
  /** In the order in which Fastify runs them. */
  readonly #hooks: Array<{ instance: FastifyInstance, name: string, text: string }> = []
  readonly #routes: DeclaredRoute[] = []

  constructor (app: FastifyInstance) {
    const hooks = this.#hooks
    const routes = this.#routes
    const { addHook } = app
    app.addHook = function recordHook (this: FastifyInstance, name: string, hook: Hook) {
      addHook.call(this, name as never, hook as never)
      const isOfRequests = (ORDER as readonly string[]).includes(name)
      const text = isOfRequests ? textOf(hook, placeHere(this)) : null
      if (text === null) return this
      // Fastify adds the hook when its queue reaches it, and calls this callback next. Without arguments, the
      // callback leaves an error of the queue to Fastify.
      return this.after(() => { hooks.push({ instance: this, name, text }) })
    } as unknown as typeof addHook
    addHook.call(app, 'onRoute', function recordRoute (this: FastifyInstance, route: RouteOptions) {
      routes.push({ instance: this, route, name: nameOf(route, app), place: placeHere(this) })
    } as never)
  }

  /**
   * What each route runs, in order, as text; the application must be ready. It has no line numbers and no files of
   * packages: it changes only with the order. Throws when there is no route of this name.
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

// The first call of the stack that is neither Hindsight's nor Fastify's has added the hook or the route.
function placeHere (instance: FastifyInstance): string[] {
  const { plugin, source } = placeOf(new Error('Added here'), nameOfPlugin(instance))
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

// The other routes are pages of Hindsight, and HEAD routes that Fastify added.
function isDeclared ({ route }: DeclaredRoute): boolean {
  const { ownOriginOnly, debugOnly } = (route.config ?? {}) as { ownOriginOnly?: boolean, debugOnly?: boolean }
  return ownOriginOnly !== true && debugOnly !== true &&
    !hooksOf(route, 'onSend').some(({ name }) => name === HEAD_HOOK)
}

// Encapsulated instances inherit the hooks of their parent, also later ones. The prototype of a child is its parent.
function covers (adder: FastifyInstance, instance: FastifyInstance): boolean {
  return adder === instance || Object.prototype.isPrototypeOf.call(adder, instance)
}

function hooksOf (route: RouteOptions, name: HookName): Hook[] {
  return [route[name] as Hook | Hook[] | null | undefined ?? []].flat().filter((hook) => typeof hook === 'function')
}
