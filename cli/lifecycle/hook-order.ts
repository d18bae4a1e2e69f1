import type { FastifyInstance, RouteOptions } from 'fastify'
import { isOwnHook, listenerOf } from '../../lib/lifecycle/listener.js'
import { nameOfPlugin, placeOf } from '../../lib/profiler/application-hooks.js'

/** Fastify's hooks and the handler, in the order of a request; the last three run only when something goes wrong. */
export const ORDER = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'handler', 'preSerialization', 'onSend', 'onResponse',
  'onError', 'onTimeout', 'onRequestAbort'
] as const

type HookName = typeof ORDER[number]

/** A function that runs on a route: a listener of Hindsight, or a hook or handler of the application. */
export type Step = { hook: HookName, stage: string, listener: string } | {
  hook: HookName
  stage?: never
  name: string
  /** The package of the file that added it, or the plugin by the name of its instance. */
  plugin?: string
  /** Whether the function is an option of the route; otherwise it was added to an instance. */
  route?: true
  /** `file:line` of the call that added it; absent where an `onRoute` hook added it to the route. */
  source?: string
}

/** What a route runs, in order. */
export interface RouteOrder {
  /** Whether the application declares it; otherwise it is a page of Hindsight, or a HEAD route that Fastify added. */
  isDeclared: boolean
  /** `ANY`, or the methods. */
  method: string
  methods: readonly string[]
  url: string
  /** As text: a constraint may be a regular expression. */
  constraints?: Readonly<Record<string, string>>
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
  place: ReturnType<typeof placeOf>
}

/** The name of the `onSend` hook of HEAD routes that Fastify adds. */
const HEAD_HOOK = 'headRouteOnSendHandler'

/** Records the hooks and routes of an application. Create it before the first of them is added. */
export class HookOrder {
  readonly #app: FastifyInstance
  /** In the order in which Fastify runs them. */
  readonly #hooks: Array<{ instance: FastifyInstance, step: Step }> = []
  readonly #routes: DeclaredRoute[] = []

  constructor (app: FastifyInstance) {
    this.#app = app
    const hooks = this.#hooks
    const routes = this.#routes
    const { addHook } = app
    app.addHook = function recordHook (this: FastifyInstance, name: string, hook: Hook) {
      addHook.call(this, name as never, hook as never)
      const isOfRequests = (ORDER as readonly string[]).includes(name)
      const step = isOfRequests ? stepOf(name as HookName, hook, placeHere(this)) : undefined
      if (step === undefined) return this
      // Fastify adds the hook when its queue reaches it, and calls this callback next. Without arguments, the
      // callback leaves an error of the queue to Fastify.
      return this.after(() => { hooks.push({ instance: this, step }) })
    } as unknown as typeof addHook
    addHook.call(app, 'onRoute', function recordRoute (this: FastifyInstance, route: RouteOptions) {
      const own = new Set(ORDER.flatMap((name) => hooksOf(route, name)))
      routes.push({ instance: this, route, url: route.url, hooks: own, place: placeHere(this) })
    } as never)
  }

  /** The mode of Hindsight; null when the application does not have Hindsight. */
  get mode (): 'debug' | 'production' | null {
    const found = [...this.#routes, ...this.#hooks].find(({ instance }) => instance.hasDecorator('hindsight'))
    return found === undefined ? null : found.instance.hindsight.debug ? 'debug' : 'production'
  }

  /** What each route runs, in the order of their declaration. The application must be ready. */
  routes (): RouteOrder[] {
    return this.#routes.map((declared) => {
      const { route, url, instance } = declared
      const { ownOriginOnly, debugOnly } = (route.config ?? {}) as { ownOriginOnly?: boolean, debugOnly?: boolean }
      const isImplied = hooksOf(route, 'onSend').some(({ name }) => name === HEAD_HOOK)
      const methods = [route.method].flat()
      const constraints = Object.entries(route.constraints ?? {}).map(([name, value]) => [name, String(value)])
      const steps = ORDER.flatMap((name) => this.#stepsOf(name, declared))
      return {
        isDeclared: ownOriginOnly !== true && debugOnly !== true && !isImplied,
        method: this.#app.supportedMethods.every((one) => methods.includes(one)) ? 'ANY' : methods.join('|'),
        methods,
        url,
        ...constraints.length > 0 && { constraints: Object.fromEntries(constraints) },
        steps,
        idle: idleListeners(instance, steps)
      }
    })
  }

  #stepsOf (name: HookName, { instance, route, hooks, place }: DeclaredRoute): Step[] {
    const ofInstances = this.#hooks.filter(({ step, instance: adder }) => step.hook === name && covers(adder, instance))
    const ofRoute = hooksOf(route, name).filter((hook) => hook.name !== HEAD_HOOK)
    return [
      ...ofInstances.map(({ step }) => step),
      // It is not known which plugin added a hook from outside.
      ...ofRoute.flatMap((hook) => {
        const isOwn = name === 'handler' || hooks.has(hook)
        return stepOf(name, hook, { route: true, ...isOwn && place }) ?? []
      })
    ]
  }
}

// A hook of Hindsight that is not a listener is not part of the contract.
function stepOf (hook: HookName, what: Hook, place: object): Step | undefined {
  if (!isOwnHook(what)) return { hook, name: what.name || 'anonymous', ...place }
  const mark = listenerOf(what)
  return mark === null ? undefined : { hook, stage: mark.stage, listener: mark.listener }
}

// The first call of the stack that is neither Hindsight's nor Fastify's has added the hook or the route.
function placeHere (instance: FastifyInstance): ReturnType<typeof placeOf> {
  return placeOf(new Error('Added here'), nameOfPlugin(instance))
}

// Encapsulated instances inherit the hooks of their parent, also later ones. The prototype of a child is its parent.
function covers (adder: FastifyInstance, instance: FastifyInstance): boolean {
  return adder === instance || Object.prototype.isPrototypeOf.call(adder, instance)
}

function idleListeners (instance: FastifyInstance, steps: readonly Step[]): RouteOrder['idle'] {
  const slots = instance.hasDecorator('hindsight') ? instance.hindsight.lifecycle.slots : []
  return slots
    .filter(({ stage, listener }) => !steps.some((step) => step.stage === stage && step.listener === listener))
    .map(({ stage, listener, reason }) => ({ stage, listener, reason: reason ?? 'only after a failure' }))
}

function hooksOf (route: RouteOptions, name: HookName): Hook[] {
  return [route[name] as Hook | Hook[] | null | undefined ?? []].flat().filter((hook) => typeof hook === 'function')
}
