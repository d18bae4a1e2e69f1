import { inspect } from 'node:util'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Frame } from './event-recorder.js'
import type { PassName } from './events.js'
import { HOOK_OF_STAGE, type Slot, type Stage } from './lifecycle.js'
import { stateOf, type RequestState } from './request-state.js'
import type { HindsightOptions } from '../options.js'
import { require } from '../require.js'

const fp = require('fastify-plugin') as typeof import('fastify-plugin')

/** Returned by a listener that answers the request itself, after it has set status and headers. */
export class Answer {
  readonly payload: unknown
  constructor (payload: unknown) {
    this.payload = payload
  }
}

/** Returned by a listener that does not apply to the request; the profile has the reason. */
export class Skip {
  readonly reason: string
  constructor (reason: string) {
    this.reason = reason
  }
}

/** The error that a listener raised in the main pass, for its hook. */
class Raised {
  readonly error: Error
  constructor (error: unknown) {
    // Fastify takes a falsy error for none, and would continue.
    this.error = (error || new Error(`A listener raised ${inspect(error)}`)) as Error
  }
}

/** An error that is returned is raised like one that is thrown: throwing takes 2 µs more, a tenth of a request. */
type Verdict = void | undefined | Skip | Answer | Error

/** A listener before the handler. */
export type RequestHook = (request: FastifyRequest, reply: FastifyReply) => Verdict | Promise<Verdict>

/** A listener of a response: returns the payload where it changes it, nothing where it does not. */
type ResponseHook = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown

type HookOf<S extends Stage> = S extends 'kernel.response' | 'kernel.finish_request' ? ResponseHook : RequestHook

/** A hook that runs in error passes only, or for requests that are observed. */
interface ConditionalHook<S extends Stage> {
  hook: HookOf<S>
  when: 'error' | 'observed'
}

/** The result of `create`: the hook, or the reason why no hook is needed. */
type Created<S extends Stage> = HookOf<S> | ConditionalHook<S> | string

/** Runs once, at registration, and returns the hook. */
export type Create<S extends Stage> =
  (app: FastifyInstance, options: HindsightOptions) => Created<S> | Promise<Created<S>>

/** A Fastify plugin with one job in one stage. */
export interface Listener<S extends Stage> {
  readonly stage: S
  readonly listener: string
  readonly plugin: FastifyPluginAsync<HindsightOptions>
}

const nothingRaised = new Skip('nothing was raised')
const notObserved = new Skip('the request is not observed')
const unrouted = new Skip('no route matched')

/** Makes a listener: a Fastify plugin that adds the hook of its stage. */
export function listener<S extends Stage> (stage: S, name: string, create: Create<S>): Listener<S> {
  async function register (app: FastifyInstance, options: HindsightOptions): Promise<void> {
    const { lifecycle: { slots }, leave } = app.hindsight
    const slot: Slot = { index: slots.length, stage, listener: name, reason: null, run: null }
    slots.push(slot)
    const created = leave.has(name) ? 'left to the application' : await create(app, options)
    if (typeof created === 'string') {
      slot.reason = created
      return
    }
    const isAfterRouter = name !== 'router' && slots.some(({ listener }) => listener === 'router')
    const active: ActiveListener = {
      slot,
      hook: typeof created === 'object' ? created.hook : created,
      when: typeof created === 'object' ? created.when : 'always',
      needsRoute: stage === 'kernel.request' && isAfterRouter
    }
    slot.run = (request, reply, payload) => runListener(active, request, reply, payload)
    // Where requests are observed once they have failed, an error pass runs the slot: the hook would do nothing.
    const isBeforeHandler = HOOK_OF_STAGE[stage] !== 'onSend'
    if (active.when !== 'always' && isBeforeHandler && !app.hindsight.fromBeginning) return
    const fastifyHook = isBeforeHandler ? requestHook(active) : sendHook(active)
    Object.defineProperty(fastifyHook, 'name', { value: name })
    app.addHook(HOOK_OF_STAGE[stage] as 'onSend', ownHook(fastifyHook, { stage, listener: name }) as never)
  }
  return { stage, listener: name, plugin: fp(register, { fastify: '5.x', name: `hindsight/${stage}/${name}` }) }
}

/** A listener with a hook. */
interface ActiveListener {
  slot: Slot
  hook: ResponseHook | RequestHook
  when: 'always' | 'error' | 'observed'
  /** Whether it is skipped where no route matched. */
  needsRoute: boolean
}

type Done = (error?: Error | null, payload?: unknown) => void

function requestHook (active: ActiveListener) {
  return function (request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const result = runListener(active, request, reply)
    // Calls back at once where it can: a response may be read before the next turn of the event loop.
    if (isPromise(result)) result.then((later) => proceed(later, reply, done), done)
    else proceed(result, reply, done)
  }
}

function proceed (result: unknown, reply: FastifyReply, done: Done): void {
  if (result instanceof Answer) reply.send(result.payload)
  else if (result instanceof Raised) done(result.error)
  else done()
}

function sendHook (active: ActiveListener) {
  return function (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done): void {
    const result = runListener(active, request, reply, payload)
    if (isPromise(result)) result.then((later) => continueWith(later, payload, done), done)
    else continueWith(result, payload, done)
  }
}

function continueWith (result: unknown, payload: unknown, done: Done): void {
  if (result instanceof Raised) done(result.error)
  else done(null, result === undefined || result instanceof Skip ? payload : result)
}

/** Runs a listener, and records what it does for a request that is observed. */
function runListener (
  active: ActiveListener, request: FastifyRequest, reply: FastifyReply, payload?: unknown
): unknown {
  const { slot } = active
  const state = stateOf(request)
  const { pass } = state
  const frame = beginFrame(slot, state, reply)
  try {
    const result = skipReason(active, state) ?? active.hook(request, reply, payload)
    if (result instanceof Error) return raised(result, slot, pass, frame, request, reply)
    if (!isPromise(result)) return returned(result, frame, state, reply)
    return result.then(
      (later) => later instanceof Error
        ? raised(later, slot, pass, frame, request, reply)
        : returned(later, frame, state, reply),
      (error: unknown) => raised(error, slot, pass, frame, request, reply)
    )
  } catch (error) {
    return raised(error, slot, pass, frame, request, reply)
  }
}

function beginFrame (slot: Slot, { recorder, pass }: RequestState, reply: FastifyReply): Frame | null {
  if (recorder === null) return null
  // `reply.callNotFound()` runs the hooks of the controller a second time.
  const isRepeated = pass === 'main' && slot.stage.startsWith('kernel.controller') && recorder.reached(slot.index, pass)
  return isRepeated ? null : recorder.enter(reply, slot, pass)
}

function skipReason (active: ActiveListener, { failed, observed, routeError }: RequestState): Skip | null {
  const { when, needsRoute } = active
  if (when === 'error' && !failed) return nothingRaised
  if (when === 'observed' && !observed) return notObserved
  // A not-found handler of the application may answer a request without a route.
  return needsRoute && routeError !== null ? unrouted : null
}

function returned (result: unknown, frame: Frame | null, { recorder }: RequestState, reply: FastifyReply): unknown {
  if (frame === null) return result
  if (result instanceof Skip) recorder?.leave(frame, 'skipped', reply, result.reason)
  else recorder?.leave(frame, result instanceof Answer ? 'answered' : 'ran', reply)
  return result
}

/** Returns the error for the hook in the main pass. An error of the error pass is recorded, and the pass continues. */
function raised (
  error: unknown, { stage, listener }: Slot, pass: PassName, frame: Frame | null,
  request: FastifyRequest, reply: FastifyReply
): Raised | undefined {
  const state = stateOf(request)
  if (frame !== null) state.recorder?.leave(frame, 'raised', reply)
  if (pass === 'main') {
    state.raisedBy = { stage, listener }
    return new Raised(error)
  }
  state.otherErrors.push(error)
  request.log.error({ err: error, channel: 'event' }, `Listener "${listener}" of "${stage}" raised in the error pass`)
}

/** Whether a value is a promise or another thenable, such as a query of a database library. */
export function isPromise (value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** The listener that a hook of Hindsight belongs to. */
interface ListenerMark {
  stage: Stage
  listener: string
}

const ownHooks = new WeakMap<object, ListenerMark | null>()

/** Marks a hook as one of Hindsight's: it is not recorded as a hook of the application. */
export function ownHook<F extends object> (hook: F, mark: ListenerMark | null = null): F {
  ownHooks.set(hook, mark)
  return hook
}

/** Whether a hook is one of Hindsight's. */
export function isOwnHook (hook: object): boolean {
  return ownHooks.has(hook)
}

/** The listener that a hook belongs to; null where it belongs to none. */
export function listenerOf (hook: object): ListenerMark | null {
  return ownHooks.get(hook) ?? null
}
