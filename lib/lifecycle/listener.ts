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

/** Returned by a listener that had nothing to do for this request. */
export class Skip {
  readonly reason: string
  constructor (reason: string) {
    this.reason = reason
  }
}

type Verdict = void | undefined | Skip | Answer

/** A listener before the handler. */
export type RequestHook = (request: FastifyRequest, reply: FastifyReply) => Verdict | Promise<Verdict>

/** A listener of a response: returns the payload where it changes it, nothing where it does not. */
type ResponseHook = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown

type HookOf<S extends Stage> = S extends 'kernel.response' | 'kernel.finish_request' ? ResponseHook : RequestHook

/** What `create` returns: the hook, a hook that runs only in error passes, or the reason why there is nothing to do. */
type Created<S extends Stage> = HookOf<S> | { hook: HookOf<S>, when: 'error' } | string

/** Runs once, at registration: prepares what it can. */
export type Create<S extends Stage> =
  (app: FastifyInstance, options: HindsightOptions) => Created<S> | Promise<Created<S>>

/** A Fastify plugin with one job in one stage. */
export interface Listener<S extends Stage> {
  readonly stage: S
  readonly listener: string
  readonly plugin: FastifyPluginAsync<HindsightOptions>
}

const nothingRaised = new Skip('nothing was raised')
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
    const onlyErrors = typeof created === 'object'
    const hook: ResponseHook | RequestHook = onlyErrors ? created.hook : created
    const isAfterRouter = name !== 'router' && slots.some(({ listener }) => listener === 'router')
    const needsRoute = stage === 'kernel.request' && isAfterRouter
    const run = slot.run = recorded(slot, hook, ({ failed, missed }) => {
      if (onlyErrors && !failed) return nothingRaised
      // A not-found handler of the application may answer a request without a route.
      return needsRoute && missed !== null ? unrouted : null
    })
    const fastifyHook = HOOK_OF_STAGE[stage] === 'onSend' ? sendHook(run) : requestHook(run)
    Object.defineProperty(fastifyHook, 'name', { value: name })
    app.addHook(HOOK_OF_STAGE[stage] as 'onSend', ownHook(fastifyHook, { stage, listener: name }) as never)
  }
  return { stage, listener: name, plugin: fp(register, { fastify: '5.x', name: `hindsight/${stage}/${name}` }) }
}

/** The same listener, which records what it does for requests that are observed, unless `skipOf` has a reason. */
function recorded (slot: Slot, hook: ResponseHook, skipOf: (state: RequestState) => Skip | null): ResponseHook {
  const isController = slot.stage.startsWith('kernel.controller')
  return (request, reply, payload) => {
    const state = stateOf(request)
    const { recorder, pass } = state
    // `reply.callNotFound()` runs the hooks of the controller a second time.
    const isRepeated = isController && pass === 'main' && recorder?.reached(slot.index, pass) === true
    const frame = isRepeated ? undefined : recorder?.enter(reply, slot, pass)
    try {
      const result = skipOf(state) ?? hook(request, reply, payload)
      if (!isPromise(result)) return returned(result, frame, request, reply)
      return result.then(
        (later) => returned(later, frame, request, reply),
        (error: unknown) => raised(error, slot, pass, frame, request, reply)
      )
    } catch (error) {
      return raised(error, slot, pass, frame, request, reply)
    }
  }
}

function returned (result: unknown, frame: Frame | undefined, request: FastifyRequest, reply: FastifyReply): unknown {
  if (frame === undefined) return result
  const { recorder } = stateOf(request)
  if (result instanceof Skip) recorder?.leave(frame, 'skipped', reply, result.reason)
  else recorder?.leave(frame, result instanceof Answer ? 'answered' : 'ran', reply)
  return result
}

/** Throws the error again in the main pass. In the error pass it is added to the others, and the pass continues. */
function raised (
  error: unknown, { stage, listener }: Slot, pass: PassName, frame: Frame | undefined,
  request: FastifyRequest, reply: FastifyReply
): undefined {
  const state = stateOf(request)
  if (frame !== undefined) state.recorder?.leave(frame, 'raised', reply)
  if (pass === 'main') {
    state.raisedBy = { stage, listener }
    throw error
  }
  state.others.push(error)
  request.log.error({ err: error, channel: 'event' }, `Listener "${listener}" of "${stage}" raised in the error pass`)
}

type Done = (error?: Error | null, payload?: unknown) => void
type Conclude = (result: unknown, reply: FastifyReply, payload: unknown, done: Done) => void

/** The Fastify hook of a listener before the handler. */
export function requestHook (
  run: ResponseHook | RequestHook
): (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void {
  return function (request, reply, done) { call(run, proceed, request, reply, undefined, done as Done) }
}

function proceed (verdict: unknown, reply: FastifyReply, _payload: unknown, done: Done): void {
  if (verdict instanceof Answer) reply.send(verdict.payload)
  else done()
}

function sendHook (
  run: ResponseHook
): (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done) => void {
  return function (request, reply, payload, done) { call(run, proceedWith, request, reply, payload, done) }
}

function proceedWith (result: unknown, _reply: FastifyReply, payload: unknown, done: Done): void {
  done(null, result === undefined || result instanceof Skip ? payload : result)
}

/**
 * Concludes at once where nothing has to be awaited, as a response may be read before the next turn of the event loop.
 */
function call (
  run: ResponseHook, conclude: Conclude, request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done
): void {
  let result: unknown
  try {
    result = run(request, reply, payload)
  } catch (raised) {
    return done(errorOf(raised))
  }
  if (!isPromise(result)) return conclude(result, reply, payload, done)
  result.then((later) => conclude(later, reply, payload, done), (raised: unknown) => done(errorOf(raised)))
}

// Fastify takes a falsy error for none, and would continue.
function errorOf (raised: unknown): Error {
  return (raised || new Error(`A listener raised ${inspect(raised)}`)) as Error
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
