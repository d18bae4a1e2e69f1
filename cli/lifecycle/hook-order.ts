import { isAbsolute } from 'node:path'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { isOwnHook, listenerOf } from '../../lib/lifecycle/listener.js'
import type { Stage } from '../../lib/lifecycle/lifecycle.js'

/** Fastify's hooks and the handler, in the order of a request; the last three run only when something goes wrong. */
export const ORDER = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'handler', 'preSerialization', 'onSend', 'onResponse',
  'onError', 'onTimeout', 'onRequestAbort'
] as const

export type HookName = typeof ORDER[number]

/** The name of the `onSend` hook of HEAD routes that Fastify adds. */
const OF_HEAD = 'headRouteOnSendHandler'

/** A listener of Hindsight that runs on a route. */
export interface ListenerStep {
  hook: HookName
  stage: Stage
  listener: string
}

/** A hook of the application that runs on a route, or the handler of the route. */
export interface ApplicationStep {
  hook: HookName
  /** Empty for a function without a name. */
  name: string
  /** The plugin by the name of its instance; null for the root instance and for an unnamed plugin. */
  plugin: string | null
  /** Whether the hook is an option of the route; otherwise it was added to an instance. */
  ofRoute: boolean
  /** A stack of the place where it was added; null where an `onRoute` hook added it to the route. */
  addedAt: Error | null
}

export type Step = ListenerStep | ApplicationStep

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
  /** The listeners that do not run on it, with the reason. */
  idle: ReadonlyArray<{ stage: Stage, listener: string, reason: string }>
}

type Hook = (...args: never[]) => unknown

interface AddedHook {
  name: HookName
  hook: Hook
  instance: FastifyInstance
  addedAt: Error
}

interface DeclaredRoute {
  instance: FastifyInstance
  route: RouteOptions
  /** A copy: when a route answers with and without a slash, Fastify changes `route.url` later. */
  url: string
  /** The hooks that the route was declared with, before `onRoute` hooks change them. */
  hooks: ReadonlySet<Hook>
  declaredAt: Error
}

/** Records the hooks and routes of an application. Create it before the first of them is added. */
export class HookOrder {
  /** In the order in which Fastify runs them. */
  readonly #hooks: AddedHook[] = []
  readonly #routes: DeclaredRoute[] = []

  constructor (app: FastifyInstance) {
    const hooks = this.#hooks
    const routes = this.#routes
    const { addHook } = app
    app.addHook = function recordHook (this: FastifyInstance, name: string, hook: Hook) {
      addHook.call(this, name as never, hook as never)
      if (!isHookName(name)) return this
      const added: AddedHook = { name, hook, instance: this, addedAt: new Error('Added here') }
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
      const { route, url } = declared
      const steps = ORDER.flatMap((name) => this.#stepsOf(name, declared))
      return {
        methods: [route.method].flat(),
        url,
        constraints: route.constraints ?? {},
        isOurs: isOurs(route),
        isImplied: hooksOf(route, 'onSend').some(({ name }) => name === OF_HEAD),
        steps,
        idle: idleListeners(declared.instance, steps)
      }
    })
  }

  #stepsOf (name: HookName, declared: DeclaredRoute): Step[] {
    if (name === 'handler') return [handlerStep(declared)]
    const ofInstance = this.#hooks.filter((one) => one.name === name && appliesTo(one.instance, declared.instance))
    const ofRoute = hooksOf(declared.route, name).filter((hook) => hook.name !== OF_HEAD)
    return [
      ...ofInstance.flatMap((added): Step[] => listenerSteps(name, added.hook) ?? [instanceStep(added)]),
      ...ofRoute.flatMap((hook): Step[] => listenerSteps(name, hook) ?? [routeStep(name, hook, declared)])
    ]
  }
}

function handlerStep ({ instance, route, declaredAt }: DeclaredRoute): ApplicationStep {
  return { hook: 'handler', name: route.handler.name, plugin: pluginOf(instance), ofRoute: true, addedAt: declaredAt }
}

function instanceStep ({ name, hook, instance, addedAt }: AddedHook): ApplicationStep {
  return { hook: name, name: hook.name, plugin: pluginOf(instance), ofRoute: false, addedAt }
}

function routeStep (name: HookName, hook: Hook, { instance, hooks, declaredAt }: DeclaredRoute): ApplicationStep {
  // Nothing says which plugin added a hook to the route from outside.
  const [plugin, addedAt] = hooks.has(hook) ? [pluginOf(instance), declaredAt] : [null, null]
  return { hook: name, name: hook.name, plugin, ofRoute: true, addedAt }
}

function isHookName (name: string): name is HookName {
  return name !== 'handler' && (ORDER as readonly string[]).includes(name)
}

// Fastify passes the hooks of an instance on to its children, also the later ones. The prototype of a child is its
// parent.
function appliesTo (instance: FastifyInstance, ofRoute: FastifyInstance): boolean {
  return instance === ofRoute || Object.prototype.isPrototypeOf.call(instance, ofRoute)
}

// Null for a hook of the application, empty for a hook of Hindsight that is not a listener.
function listenerSteps (name: HookName, hook: Hook): ListenerStep[] | null {
  if (!isOwnHook(hook)) return null
  const mark = listenerOf(hook)
  return mark === null ? [] : [{ hook: name, stage: mark.stage, listener: mark.listener }]
}

function idleListeners (instance: FastifyInstance, steps: readonly Step[]): RouteOrder['idle'] {
  const slots = instance.hasDecorator('hindsight') ? instance.hindsight.lifecycle.slots : []
  const running = new Set(steps.map((step) => 'stage' in step ? `${step.stage} ${step.listener}` : null))
  return slots
    .filter(({ stage, listener }) => !running.has(`${stage} ${listener}`))
    .map(({ stage, listener, reason }) => ({ stage, listener, reason: reason ?? 'only after a failure' }))
}

function isOurs ({ config }: RouteOptions): boolean {
  const { ownOriginOnly, debugOnly } = (config ?? {}) as { ownOriginOnly?: boolean, debugOnly?: boolean }
  return ownOriginOnly === true || debugOnly === true
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
