import { isAbsolute } from 'node:path'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { isOwnHook, listenerOf } from '../../lib/lifecycle/listener.js'

/** Fastify's hooks and the handler, in the order of a request; the last three run only when something goes wrong. */
export const ORDER = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'handler', 'preSerialization', 'onSend', 'onResponse',
  'onError', 'onTimeout', 'onRequestAbort'
] as const

export type HookName = typeof ORDER[number]

/** A function that runs on a route: a hook, the handler, or a listener of Hindsight. */
export interface Step {
  hook: HookName
  /** The stage of a listener; null for a function of the application. */
  stage: string | null
  /** Empty for a function without a name. */
  name: string
  /** The plugin by the name of its instance; null for the root instance and for an unnamed plugin. */
  plugin: string | null
  /** Whether the function is an option of the route; otherwise it was added to an instance. */
  ofRoute: boolean
  /** A stack of the place where it was added; null where an `onRoute` hook added it to the route. */
  addedAt: Error | null
}

/** What a route runs, in order. */
export interface RouteOrder {
  methods: readonly string[]
  url: string
  constraints: Readonly<Record<string, unknown>>
  /** Whether it is a page of Hindsight. */
  isOurs: boolean
  /** Whether it is a HEAD route that Fastify added for a GET route. */
  isImplied: boolean
  steps: readonly Step[]
  /** The listeners that do not run on it. */
  idle: ReadonlyArray<{ stage: string, listener: string, reason: string }>
}

type Hook = (...args: never[]) => unknown

interface DeclaredRoute {
  instance: FastifyInstance
  route: RouteOptions
  /** A copy: when a route answers with and without a slash, Fastify changes `route.url` later. */
  url: string
  /** The hooks of the declaration, before `onRoute` hooks change them. */
  hooks: ReadonlySet<Hook>
  declaredAt: Error
}

/** The name of the `onSend` hook of HEAD routes that Fastify adds. */
const HEAD_HOOK = 'headRouteOnSendHandler'

/** Records the hooks and routes of an application. Create it before the first of them is added. */
export class HookOrder {
  /** In the order in which Fastify runs them. */
  readonly #hooks: Array<{ name: string, hook: Hook, instance: FastifyInstance, addedAt: Error }> = []
  readonly #routes: DeclaredRoute[] = []

  constructor (app: FastifyInstance) {
    const hooks = this.#hooks
    const routes = this.#routes
    const { addHook } = app
    app.addHook = function recordHook (this: FastifyInstance, name: string, hook: Hook) {
      addHook.call(this, name as never, hook as never)
      if (!(ORDER as readonly string[]).includes(name)) return this
      const added = { name, hook, instance: this, addedAt: new Error('Added here') }
      // Fastify adds the hook when its queue comes to it, and calls this callback next. Without arguments, the
      // callback leaves an error of the queue to Fastify.
      return this.after(() => { hooks.push(added) })
    } as unknown as typeof addHook
    addHook.call(app, 'onRoute', function recordRoute (this: FastifyInstance, route: RouteOptions) {
      const own = new Set(ORDER.flatMap((name) => hooksOf(route, name)))
      routes.push({ instance: this, route, url: route.url, hooks: own, declaredAt: new Error('Declared here') })
    } as never)
  }

  /** Whether Hindsight is in debug mode; null when the application does not have Hindsight. */
  get debug (): boolean | null {
    const found = [...this.#routes, ...this.#hooks].find(({ instance }) => instance.hasDecorator('hindsight'))
    return found?.instance.hindsight.debug ?? null
  }

  /** What each route runs, in the order of their declaration. The application must be ready. */
  routes (): RouteOrder[] {
    return this.#routes.map((declared) => {
      const { route, url, instance } = declared
      const steps = ORDER.flatMap((name) => this.#stepsOf(name, declared))
      const { ownOriginOnly, debugOnly } = (route.config ?? {}) as { ownOriginOnly?: boolean, debugOnly?: boolean }
      return {
        methods: [route.method].flat(),
        url,
        constraints: route.constraints ?? {},
        isOurs: ownOriginOnly === true || debugOnly === true,
        isImplied: hooksOf(route, 'onSend').some(({ name }) => name === HEAD_HOOK),
        steps,
        idle: idleListeners(instance, steps)
      }
    })
  }

  #stepsOf (name: HookName, { instance, route, hooks, declaredAt }: DeclaredRoute): Step[] {
    const plugin = pluginOf(instance)
    if (name === 'handler') {
      return [{ hook: name, stage: null, name: route.handler.name, plugin, ofRoute: true, addedAt: declaredAt }]
    }
    const ofInstances = this.#hooks.filter((added) => added.name === name && appliesTo(added.instance, instance))
    const ofRoute = hooksOf(route, name).filter((hook) => hook.name !== HEAD_HOOK)
    return [
      ...ofInstances.flatMap(({ hook, instance, addedAt }) =>
        stepsOf(name, hook, { plugin: pluginOf(instance), ofRoute: false, addedAt })),
      // It is not known which plugin added a hook from outside.
      ...ofRoute.flatMap((hook) => stepsOf(name, hook, hooks.has(hook)
        ? { plugin, ofRoute: true, addedAt: declaredAt }
        : { plugin: null, ofRoute: true, addedAt: null }))
    ]
  }
}

// A hook of Hindsight that is not a listener is not part of the contract.
function stepsOf (name: HookName, hook: Hook, place: Pick<Step, 'plugin' | 'ofRoute' | 'addedAt'>): Step[] {
  if (!isOwnHook(hook)) return [{ hook: name, stage: null, name: hook.name, ...place }]
  const mark = listenerOf(hook)
  return mark === null ? [] : [{ hook: name, stage: mark.stage, name: mark.listener, ...place }]
}

// Encapsulated instances inherit the hooks of their parent, also later ones. The prototype of a child is its parent.
function appliesTo (instance: FastifyInstance, ofRoute: FastifyInstance): boolean {
  return instance === ofRoute || Object.prototype.isPrototypeOf.call(instance, ofRoute)
}

function idleListeners (instance: FastifyInstance, steps: readonly Step[]): RouteOrder['idle'] {
  const slots = instance.hasDecorator('hindsight') ? instance.hindsight.lifecycle.slots : []
  return slots
    .filter(({ stage, listener }) => !steps.some((step) => step.stage === stage && step.name === listener))
    .map(({ stage, listener, reason }) => ({ stage, listener, reason: reason ?? 'only after a failure' }))
}

function hooksOf (route: RouteOptions, name: HookName): Hook[] {
  if (name === 'handler') return []
  return [route[name] as Hook | Hook[] | null | undefined ?? []].flat().filter((hook) => typeof hook === 'function')
}

// The names of an instance are that of its own plugin, then those of the plugins that share it.
function pluginOf ({ pluginName }: FastifyInstance): string | null {
  const name = pluginName.split(' -> ')[0] ?? ''
  // Fastify names an unnamed plugin by its file or its source, and the root instance "fastify".
  if (name === '' || name === 'fastify' || name === 'default' || isAbsolute(name) || /[(){}]|=>/.test(name)) return null
  // fastify-plugin adds a number to unnamed plugins.
  return name.replace(/-auto-\d+$/, '')
}
