import { inspect } from 'node:util'
import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Slot } from './lifecycle.js'
import { ownHook } from './own-hooks.js'
import { isPromise } from './promise.js'
import { stateOf } from './request-state.js'
import { HOOK_OF_STAGE, type Stage } from './stage.js'
import { Answer, Skip } from './verdict.js'

export { Answer, isPromise, Skip }

type Verdict = void | undefined | Skip | Answer

/** A listener before the handler. */
export type RequestHook = (request: FastifyRequest, reply: FastifyReply) => Verdict | Promise<Verdict>

/** A listener of a response: returns the payload where it changes it, nothing where it does not. */
export type ResponseHook = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown

type HookOf<S extends Stage> = S extends 'kernel.response' | 'kernel.finish_request' ? ResponseHook : RequestHook

/** Runs once, at registration: prepares what it can, and returns the hook or the reason why there is nothing to do. */
export type Create<S extends Stage, Options> =
  (app: FastifyInstance, options: Options) => HookOf<S> | string | Promise<HookOf<S> | string>

/** A Fastify plugin with one job in one stage. */
export interface Listener<S extends Stage, Options = object> {
  readonly stage: S
  readonly listener: string
  readonly plugin: FastifyPluginAsync<Options & object>
}

/** Makes a listener: a Fastify plugin that adds the hook of its stage. */
export function listener<S extends Stage, Options = object> (stage: S, name: string, create: Create<S, Options>): Listener<S, Options> {
  async function register (app: FastifyInstance, options: Options & object): Promise<void> {
    const { lifecycle: { slots }, leave } = app.hindsight
    const slot: Slot = { index: slots.length, stage, listener: name, reason: null, run: null }
    slots.push(slot)
    const hook = leave.has(name) ? 'left to the application' : await create(app, options)
    if (typeof hook === 'string') {
      slot.reason = hook
      return
    }
    const needsRoute = stage === 'kernel.request' && slots.some(({ listener }) => listener === 'router') && name !== 'router'
    const run = recorded(slot, needsRoute ? forRouted(hook) : hook)
    slot.run = run
    const mark = { stage, listener: name }
    if (HOOK_OF_STAGE[stage] === 'onSend') app.addHook('onSend', ownHook(named(name, sendHook(run)), mark))
    else app.addHook(HOOK_OF_STAGE[stage] as 'onRequest', ownHook(named(name, requestHook(run)), mark))
  }
  return { stage, listener: name, plugin: fp(register, { fastify: '5.x', name: `hindsight/${stage}/${name}`, encapsulate: false }) }
}

const unrouted = new Skip('no route matched')

/** Listeners after the router run for requests that have a route, also where a not-found handler of the application answers the others. */
function forRouted (hook: ResponseHook | RequestHook): ResponseHook {
  return (request, reply, payload) => stateOf(request).missed === null ? hook(request, reply, payload) : unrouted
}

/** The same listener, which records what it does for requests that are observed. */
function recorded (slot: Slot, hook: ResponseHook | RequestHook): ResponseHook {
  const isController = slot.stage.startsWith('kernel.controller')
  return function (request, reply, payload) {
    const state = stateOf(request)
    const { recorder, pass } = state
    // `reply.callNotFound()` runs the hooks of the controller a second time.
    const frame = recorder === null || (isController && pass === 'main' && recorder.reached(slot.index, pass)) ? null : recorder.enter(reply, slot, pass)
    const settled = (result: unknown): unknown => {
      if (frame !== null) recorder?.leave(frame, result instanceof Skip ? 'skipped' : result instanceof Answer ? 'answered' : 'ran', reply, result instanceof Skip ? result.reason : null)
      return result
    }
    const failed = (raised: unknown): undefined => {
      if (frame !== null) recorder?.leave(frame, 'raised', reply)
      if (pass === 'main') {
        state.raisedBy = { stage: slot.stage, listener: slot.listener }
        throw raised
      }
      // The response is about an error already: a second one is recorded beside it, and the pass goes on.
      state.others.push(raised)
      request.log.error({ err: raised, channel: 'event' }, `Listener "${slot.listener}" of "${slot.stage}" raised in the error pass`)
    }
    try {
      const result = hook(request, reply, payload)
      return isPromise(result) ? result.then(settled, failed) : settled(result)
    } catch (raised) {
      return failed(raised)
    }
  }
}

type Done = (error?: Error) => void
type Sent = (error: Error | null, payload?: unknown) => void

/** The Fastify hook of a listener before the handler. */
export function requestHook (run: ResponseHook | RequestHook): (request: FastifyRequest, reply: FastifyReply, done: Done) => void {
  return function (request, reply, done) {
    settle(() => run(request, reply, undefined), (verdict) => {
      if (verdict instanceof Answer) reply.send(verdict.payload)
      else done()
    }, done)
  }
}

function sendHook (run: ResponseHook): (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Sent) => void {
  return function (request, reply, payload, done) {
    settle(() => run(request, reply, payload), (result) => {
      done(null, result === undefined || result instanceof Skip ? payload : result)
    }, done)
  }
}

/** Calls back at once where nothing has to be awaited, as a response may be read before the next turn of the event loop. */
function settle (run: () => unknown, done: (result: unknown) => void, failed: (error: Error) => void): void {
  let result: unknown
  try {
    result = run()
  } catch (raised) {
    return failed(errorOf(raised))
  }
  if (isPromise(result)) result.then(done, (raised: unknown) => failed(errorOf(raised)))
  else done(result)
}

// Fastify takes a falsy error for none, and would go on.
function errorOf (raised: unknown): Error {
  return (raised || new Error(`A listener raised ${inspect(raised)}`)) as Error
}

function named<F extends (...args: never[]) => unknown> (name: string, hook: F): F {
  return Object.defineProperty(hook, 'name', { value: name })
}
