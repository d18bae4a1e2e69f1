import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { requestHook, sendHook } from './joined-hooks.js'
import { measured, measuredOnceFailed, type RequestHook, type ResponseHook } from './measured.js'
import { isPromise } from './promise.js'
import { HOOK_OF_STAGE, type Stage } from './stage.js'
import { stateOf } from './request-state.js'
import { newSlot, type Slot } from './lifecycle.js'
import { leftBy, OTHERS } from './other-plugins.js'
import { ownHook, type Run } from './own-hooks.js'
import type { RouteConfig } from './route-config.js'
import { Answer, Raise, Skip } from './verdict.js'

export { Answer, isPromise, Raise, Skip }
export type { RequestHook, ResponseHook }

/** What `create` returns where there is something to do only for requests that have failed: outside of error passes there is no hook then. */
export class OnFailure<Hook> {
  readonly hook: Hook
  constructor (hook: Hook) {
    this.hook = hook
  }
}

/** What `create` returns where others need a part of its job even when the rest is left to a plugin of the application: `rest` does that part alone. */
export class Partly<Hook> {
  readonly hook: Hook
  readonly rest: Hook
  constructor (hook: Hook, rest: Hook) {
    this.hook = hook
    this.rest = rest
  }
}

/** What `create` returns where it is about routes that declare something: `concerns` says whether one with this `config` does. The hook itself asks, too. */
export class OfRoutes<Hook> {
  readonly hook: Hook
  readonly concerns: (config: RouteConfig | undefined) => boolean
  constructor (hook: Hook, concerns: (config: RouteConfig | undefined) => boolean) {
    this.hook = hook
    this.concerns = concerns
  }
}

type HookOf<S extends Stage> = S extends 'kernel.response' | 'kernel.finish_request' ? ResponseHook : RequestHook

/** Runs once, at registration: prepares what it can, and returns the hook or the reason why there is nothing to do. */
export type Create<S extends Stage, Options> =
  (app: FastifyInstance, options: Options) => Created<S> | Promise<Created<S>>

type Created<S extends Stage> = HookOf<S> | OnFailure<HookOf<S>> | Partly<HookOf<S>> | OfRoutes<HookOf<S>> | string

/** A Fastify plugin with one job in one stage. */
export interface Listener<S extends Stage, Options = object> {
  readonly stage: S
  readonly listener: string
  readonly plugin: FastifyPluginAsync<Options & object>
}

/** Makes a listener: a Fastify plugin that adds the hook of its stage, measured in debug mode only. */
export function listener<S extends Stage, Options = object> (stage: S, name: string, create: Create<S, Options>): Listener<S, Options> {
  async function register (app: FastifyInstance, options: Options & object): Promise<void> {
    const { lifecycle: { observed, fromBeginning, slots }, hindsight: { leave } } = app
    const slot = newSlot(slots.length, stage, name)
    slots.push(slot)
    if (leave.has(name)) {
      slot.reason = 'left to the application'
      return
    }
    const created = await create(app, options)
    if (typeof created === 'string') {
      slot.reason = created
      return
    }
    const hook = typeof created === 'function' ? created : created.hook
    const isRouted = stage === 'kernel.request' && slots.some(({ listener }) => listener === 'router') && name !== 'router'
    const able = YIELDING.has(name) ? yielding(slot, hook, created instanceof Partly ? created.rest : null) : hook
    const own = isRouted ? routed(able) : able
    slot.run = observed ? measured(slot, own) : own
    if (created instanceof OnFailure && !fromBeginning) return
    const at = HOOK_OF_STAGE[stage]
    // A request that is observed from its failure on comes to no hook any more but those of its response.
    const isMeasured = observed && (fromBeginning || at === 'onSend')
    const run = (!isMeasured ? own : fromBeginning ? slot.run : measuredOnceFailed(own, slot.run as ResponseHook)) as Run
    const mark = { stage, listener: name }
    // Where nobody tells what a listener did, it need not be asked what it has nothing to do with.
    const runOf = (config: RouteConfig | undefined): Run | null => {
      if (isMeasured) return run
      if (created instanceof OfRoutes && !created.concerns(config)) return null
      return (slot.left !== null || slot.leftIn !== null ? own : isRouted ? routed(hook) : hook) as Run
    }
    if (at === 'onSend') app.addHook('onSend', ownHook(named(name, sendHook([run])), mark, runOf))
    else app.addHook(at as 'onRequest', ownHook(named(name, requestHook([run])), mark, runOf))
  }
  return { stage, listener: name, plugin: fp(register, { fastify: '5.x', name: `hindsight/${stage}/${name}`, encapsulate: false }) }
}

// What the application may have brought a plugin of its own for is known when all of it is registered.
const YIELDING: ReadonlySet<string> = new Set(Object.values(OTHERS).flat())

function yielding<Run extends RequestHook | ResponseHook> (slot: Slot, run: Run, rest: Run | null): Run {
  return ((request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const left = slot.left === null && slot.leftIn === null ? null : leftBy(slot, request.server)
    if (left === null) return run(request, reply, payload)
    const result: unknown = rest?.(request, reply, payload)
    return isPromise(result) ? result.then(() => left) : left
  }) as Run
}

const unrouted = new Skip('no route matched')

// What is behind the router runs for requests that have a route, also where the application answers those that have none.
function routed<Run extends RequestHook | ResponseHook> (run: Run): Run {
  return ((request: FastifyRequest, reply: FastifyReply, payload: unknown) => stateOf(request).missed === null ? run(request, reply, payload) : unrouted) as Run
}

function named<F extends (...args: never[]) => unknown> (name: string, hook: F): F {
  return Object.defineProperty(hook, 'name', { value: name })
}
