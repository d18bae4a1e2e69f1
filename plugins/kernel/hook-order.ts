import type { FastifyInstance, RouteOptions } from 'fastify'
import { OF_HEAD } from './application-hooks.js'
import { keptBy } from './fastify-symbols.js'
import { like, originalOf, standsFor } from './stand-in.js'
import type { Slot } from './lifecycle.js'
import { leftBy } from './other-plugins.js'
import { isOwnHook, listenerOf } from './own-hooks.js'
import { PluginNames } from './plugin-names.js'
import type { Stage } from './stage.js'

/** The hooks of Fastify in the order in which a request passes them, with the handler among them; the last three when something goes wrong. */
export const ORDER = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'handler', 'preSerialization', 'onSend', 'onResponse', 'onError', 'onTimeout', 'onRequestAbort'
] as const

export type HookName = typeof ORDER[number]

/** One of our listeners, at its place in the order of a route. */
export interface ListenerStep {
  hook: HookName
  stage: Stage
  listener: string
}

/** A hook of the application, or the handler of the route, at its place. */
export interface ApplicationStep {
  hook: HookName
  /** Empty for a function without one. */
  name: string
  plugin: string | null
  /** Whether the route brings it, rather than its instance. */
  ofRoute: boolean
  /** A stack taken where it was added; null where that is not known. */
  addedAt: Error | null
}

export type Step = ListenerStep | ApplicationStep

/** What a route runs, in order. */
export interface RouteOrder {
  methods: readonly string[]
  url: string
  constraints: Readonly<Record<string, unknown>>
  /** Whether it is one of our own pages. */
  isOurs: boolean
  /** Whether Fastify made it, for a GET route. */
  isImplied: boolean
  steps: readonly Step[]
  /** The listeners that have nothing to do on it, and why. */
  idle: ReadonlyArray<{ stage: Stage, listener: string, reason: string }>
}

type Hook = (...args: never[]) => unknown

interface Addition {
  hook: Hook
  instance: FastifyInstance
  plugin: string | null
  addedAt: Error
}

interface Declared {
  instance: FastifyInstance
  route: RouteOptions
  /** Fastify gives the same options another URL where a route answers with and without a slash. */
  url: string
  /** What the route itself brings, before plugins add to it. */
  hooks: ReadonlySet<Hook>
  plugin: string | null
  declaredAt: Error
}

/** Remembers who adds which hook, from the moment that an application is made: to be opened ahead of its first hook and route. */
export class HookOrder {
  readonly #additions: Addition[] = []
  readonly #routes: Declared[] = []

  constructor (app: FastifyInstance) {
    const additions = this.#additions
    const routes = this.#routes
    const plugins = new PluginNames(app)
    const { addHook } = app
    app.addHook = function (this: FastifyInstance, name: string, given: Hook) {
      // A function may be added more than once, and not be reached in the order in which it was.
      const hook = additions.some((one) => one.hook === given) ? like(given, function (this: unknown, ...args) { return given.apply(this, args) }) : given
      if (typeof hook === 'function') additions.push({ hook, instance: this, plugin: plugins.of(this), addedAt: new Error('Added here') })
      return addHook.call(this, name as never, hook as never)
    } as unknown as typeof addHook
    addHook.call(app, 'onRoute', function rememberRoute (this: FastifyInstance, route: RouteOptions) {
      const hooks = new Set(ORDER.flatMap((name) => hooksOf(route, name)).map(originalOf))
      routes.push({ instance: this, route, url: route.url, hooks, plugin: plugins.of(this), declaredAt: new Error('Declared here') })
    } as never)
  }

  /** Whether the lifecycle is in debug mode; null where there is none. */
  get debug (): boolean | null {
    return [...this.#routes, ...this.#additions].find(({ instance }) => instance.hasDecorator('hindsight'))?.instance.hindsight.debug ?? null
  }

  /** What its routes run, in the order of their declaration; to be asked when the application is ready. */
  routes (): RouteOrder[] {
    return this.#routes.map((declared) => this.#orderOf(declared))
  }

  #orderOf (declared: Declared): RouteOrder {
    const { instance, route, url, plugin, declaredAt } = declared
    const slots = instance.hasDecorator('lifecycle') ? instance.lifecycle.slots : []
    const steps = ORDER.flatMap((hook): Step[] => {
      if (hook === 'handler') return [{ hook, name: originalOf(route.handler as unknown as Hook).name, plugin, ofRoute: true, addedAt: declaredAt }]
      return [
        ...hooksOfInstance(instance, hook).flatMap((one) => listenerStep(hook, one, instance, slots) ?? addedStep(hook, one, this.#additions)),
        ...hooksOf(route, hook).flatMap((one) => listenerStep(hook, one, instance, slots) ?? routeStep(hook, originalOf(one), declared))
      ]
    })
    return {
      methods: [route.method].flat(),
      url,
      constraints: route.constraints ?? {},
      isOurs: isOurs(route),
      isImplied: hooksOf(route, 'onSend').some((hook) => originalOf(hook).name === OF_HEAD),
      steps,
      idle: slots.filter((slot) => !steps.some((step) => 'stage' in step && isOf(slot, step)))
        .map((slot) => ({ stage: slot.stage, listener: slot.listener, reason: leftBy(slot, instance)?.reason ?? slot.reason ?? 'only after a failure' }))
    }
  }
}

// Null for a hook of the application; none for what is ours and no listener, or has nothing to do.
function listenerStep (hook: HookName, one: Hook, instance: FastifyInstance, slots: readonly Slot[]): Step[] | null {
  if (one.name === OF_HEAD) return []
  if (!isOwnHook(one) || originalOf(one) !== one) return null
  const mark = listenerOf(one)
  if (mark === null || slots.some((slot) => isOf(slot, mark) && leftBy(slot, instance) !== null)) return []
  return [{ hook, stage: mark.stage, listener: mark.listener }]
}

function addedStep (hook: HookName, one: Hook, additions: readonly Addition[]): Step[] {
  const added = additions.find((addition) => standsFor(one, addition.hook))
  return [{ hook, name: originalOf(one).name, plugin: added?.plugin ?? null, ofRoute: false, addedAt: added?.addedAt ?? null }]
}

function routeStep (hook: HookName, original: Hook, { hooks, plugin, declaredAt }: Declared): Step[] {
  // Plugins may add to the route in their turn, and nobody sees which of them.
  const isItsOwn = hooks.has(original)
  return [{ hook, name: original.name, plugin: isItsOwn ? plugin : null, ofRoute: true, addedAt: isItsOwn ? declaredAt : null }]
}

function isOf (slot: Slot, { stage, listener }: { stage: Stage, listener: string }): boolean {
  return slot.stage === stage && slot.listener === listener
}

function isOurs ({ config }: RouteOptions): boolean {
  const { ownOriginOnly, debugOnly } = (config ?? {}) as { ownOriginOnly?: boolean, debugOnly?: boolean }
  return ownOriginOnly === true || debugOnly === true
}

function hooksOf (route: RouteOptions, name: HookName): Hook[] {
  if (name === 'handler') return []
  return [route[name] as Hook | Hook[] | null | undefined ?? []].flat().filter((hook) => typeof hook === 'function')
}

// An instance has inherited those of the ones around it.
function hooksOfInstance (instance: FastifyInstance, name: HookName): Hook[] {
  return keptBy<Record<string, Hook[]>>(instance, 'fastify.hooks')?.[name] ?? []
}
