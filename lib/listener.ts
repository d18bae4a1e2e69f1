import { inspect } from 'node:util'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import {
  callAfter, type HookRun, internalHook, isPromise, isRedirect, type PassName, type Recorder, type RequestTrace
} from 'fastify-hindsight/recorder'
import type { ServiceOptions } from './options.js'
import { HOOK_OF_STAGE, type ListenerSlot, type Stage } from './stages.js'
import { type RequestState, stateOf } from './state.js'
import { logError } from './log-error.js'

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

/** Returned where a listener raised: the error for its hook, or null in an error pass, which continues. */
class Raised {
  readonly error: Error | null
  constructor (error: Error | null) {
    this.error = error
  }
}

/** An error that is returned is raised like one that is thrown: throwing takes 2 µs more, a tenth of a request. */
export type HookResult = void | undefined | Skip | Answer | Error

/** A listener before the handler. */
export type RequestHook = (request: FastifyRequest, reply: FastifyReply) => HookResult | Promise<HookResult>

/** A listener of a response: returns the payload where it changes it, nothing where it does not. */
type ResponseHook = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown

type HookOf<S extends Stage> = S extends 'kernel.response' | 'kernel.finish_request' ? ResponseHook : RequestHook

/** The result of `create`: the hook, or the reason why no hook is needed. */
type Created<S extends Stage> = HookOf<S> | string

/** Runs once, at registration, and returns the hook. */
export type Create<S extends Stage> =
  (app: FastifyInstance, options: ServiceOptions) => Created<S> | Promise<Created<S>>

/** A Fastify plugin with one job in one stage. */
export interface Listener<S extends Stage> {
  readonly stage: S
  readonly listener: string
  readonly plugin: FastifyPluginAsync<ServiceOptions>
}

/** Reasons of listeners of the controller. */
export const notConfigured = new Skip('not configured')
export const ofDiagnosticHandler = new Skip('the diagnostic handler declares no attributes')

const notRecorded = new Skip('the request is not recorded')
const unrouted = new Skip('no route matched')

/** Makes a listener: a Fastify plugin that adds the hook of its stage. */
export function defineListener<S extends Stage> (stage: S, name: string, create: Create<S>): Listener<S> {
  async function register (app: FastifyInstance, options: ServiceOptions): Promise<void> {
    const { slots, leave } = app.service
    const slot: ListenerSlot = { index: slots.length, stage, listener: name, reason: null, run: null }
    slots.push(slot)
    const created = leave.has(name) ? 'left to the application' : await create(app, options)
    if (typeof created === 'string') {
      slot.reason = created
      return
    }
    const isAfterRouter = name !== 'router' && slots.some(({ listener }) => listener === 'router')
    const active: ActiveListener = { slot, hook: created, needsRoute: stage === 'kernel.request' && isAfterRouter }
    const call = app.hindsight.recorder === null ? callHook : recordHook
    slot.run = (request, reply, payload) => call(active, request, reply, payload)
    const fastifyHook = HOOK_OF_STAGE[stage] === 'onSend' ? sendHook(active, call) : requestHook(active, call)
    Object.defineProperty(fastifyHook, 'name', { value: name })
    app.addHook(HOOK_OF_STAGE[stage] as 'onSend', internalHook(fastifyHook, { stage, listener: name }) as never)
  }
  return { stage, listener: name, plugin: fp(register, { fastify: '5.x', name: `hindsight/${stage}/${name}` }) }
}

/** Makes the `create` of a listener that calls a function of the recorder for the requests that are recorded. */
export function whenRecorded (
  record: (recorder: Recorder, trace: RequestTrace, payload: unknown) => void
) {
  return ({ hindsight: { recorder } }: FastifyInstance) => {
    if (recorder === null) return 'not in debug mode'
    return (request: FastifyRequest, _reply: FastifyReply, payload?: unknown): Skip | undefined => {
      const { trace } = stateOf(request)
      if (!trace.isRecording) return notRecorded
      record(recorder, trace, payload)
    }
  }
}

/** The hook of a request, and that of a later stage: a listener of two stages is made once. */
type Pair<S extends Stage> = readonly [RequestHook, HookOf<S>] | string

/** Makes a listener of two stages, whose hooks share what `create` makes. */
export function listenerPair<S extends 'kernel.response' | 'kernel.finish_request'> (
  stage: S, name: string, create: (app: FastifyInstance, options: ServiceOptions) => Pair<S> | Promise<Pair<S>>
): [Listener<'kernel.request'>, Listener<S>] {
  const slotIn = ({ service }: FastifyInstance): ListenerSlot | undefined =>
    service.slots.find(({ listener }) => listener === name)
  const first = defineListener('kernel.request', name, async (app, options) => {
    const pair = await create(app, options)
    if (typeof pair === 'string') return pair
    Object.assign(slotIn(app) ?? {}, { later: pair[1] })
    return pair[0]
  })
  return [first, defineListener(stage, name, (app) => {
    const { later, reason } = slotIn(app) ?? {}
    return later as HookOf<S> | undefined ?? reason ?? 'not configured'
  })]
}

/** A listener with a hook. */
interface ActiveListener {
  slot: ListenerSlot
  hook: ResponseHook | RequestHook
  /** Whether it is skipped where no route matched. */
  needsRoute: boolean
}

/** Calls the hook of a listener; `recordHook` records it, too. It is chosen when the listener is registered. */
type Call = typeof callHook
type Done = (error?: unknown, payload?: unknown) => void

// A hook calls back at once where it can: a response may be read before the next turn of the event loop. To make the
// functions that promises need for each result would take 3 % of the time of a request.
function requestHook (active: ActiveListener, call: Call) {
  return function (request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const result = call(active, request, reply)
    if (result === undefined) done()
    else if (isPromise(result)) result.then((later) => proceed(later, reply, done), done)
    else proceed(result, reply, done)
  }
}

function proceed (result: unknown, reply: FastifyReply, done: Done): void {
  if (result instanceof Answer) reply.send(result.payload)
  else done(result instanceof Raised ? result.error : null)
}

function sendHook (active: ActiveListener, call: Call) {
  return function (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done): void {
    const result = call(active, request, reply, payload)
    if (result === undefined) done(null, payload)
    else if (isPromise(result)) result.then((later) => continueWith(later, payload, done), done)
    else continueWith(result, payload, done)
  }
}

function continueWith (result: unknown, payload: unknown, done: Done): void {
  if (result === undefined || result instanceof Skip) done(null, payload)
  else if (result instanceof Raised) done(result.error, payload)
  else done(null, result)
}

/** Calls the hook of a listener, and records what it does for a request that is recorded. */
function recordHook (
  active: ActiveListener, request: FastifyRequest, reply: FastifyReply, payload?: unknown
): unknown {
  const state = stateOf(request)
  const running = beginRun(active.slot, state, reply)
  const result = callHook(active, request, reply, payload)
  if (running === null) return result
  return endRun(result, running, state, reply)
}

/** Calls the hook of a listener where it applies to the request. */
function callHook (
  { slot, hook, needsRoute }: ActiveListener, request: FastifyRequest, reply: FastifyReply, payload?: unknown
): unknown {
  // A not-found handler of the application may answer a request without a route.
  if (needsRoute && request.is404) return unrouted
  try {
    const result = hook(request, reply, payload)
    if (result === undefined || result instanceof Skip) return result
    if (!isPromise(result)) return result instanceof Error ? raised(result, slot, request) : result
    // An error pass may begin while it runs.
    const { pass } = stateOf(request)
    const fail = (error: unknown): Raised => raised(error, slot, request, pass)
    return result.then((later) => later instanceof Error ? fail(later) : later, fail)
  } catch (error) {
    return raised(error, slot, request)
  }
}

function beginRun (
  slot: ListenerSlot, { recording: { events }, pass }: RequestState, reply: FastifyReply
): HookRun | null {
  if (events === null) return null
  // `reply.callNotFound()` runs the hooks of the controller a second time.
  const isRepeated = pass === 'main' && slot.stage.startsWith('kernel.controller') && events.reached(slot.index, pass)
  if (isRepeated) return null
  return events.enter(reply, slot, pass)
}

function endRun (result: unknown, run: HookRun, state: RequestState, reply: FastifyReply): unknown {
  if (isPromise(result)) return result.then((later) => endRun(later, run, state, reply))
  const { recording } = state
  if (result instanceof Skip) recording.events?.leave(run, 'skipped', reply, result.reason)
  else if (result instanceof Raised) recording.events?.leave(run, 'raised', reply)
  else recording.events?.leave(run, result instanceof Answer ? 'answered' : 'ran', reply)
  return result
}

function raised (
  error: unknown, { stage, listener }: ListenerSlot, request: FastifyRequest, pass: PassName = stateOf(request).pass
): Raised {
  const state = stateOf(request)
  if (pass === 'main') {
    state.recording.raisedBy = { stage, listener }
    // Fastify takes a falsy error for none, and would continue.
    return new Raised((error || new Error(`A listener raised ${inspect(error)}`)) as Error)
  }
  state.recording.addError(error)
  logError(request, error, { channel: 'event' }, `Listener "${listener}" of "${stage}" raised in the error pass`)
  return new Raised(null)
}

/**
 * Runs listeners outside of their hooks, one after the other. Each receives the payload that the one before it
 * returned. Returns the last payload, or a promise of it where a listener is asynchronous.
 */
export function runSlots (
  slots: readonly ListenerSlot[], request: FastifyRequest, reply: FastifyReply, payload?: unknown
): unknown {
  const [slot, ...others] = slots
  if (slot === undefined) return payload
  return callAfter(slot.run?.(request, reply, payload), (result) =>
    runSlots(others, request, reply, payloadAfter(result, payload)))
}

function payloadAfter (result: unknown, payload: unknown): unknown {
  return typeof result === 'string' || Buffer.isBuffer(result) ? result : payload
}

/** The reason why headers about documents are not set on redirects. */
export const notOnRedirect = new Skip('not on redirects')
const setByRoute = new Skip('the route has set the header')

/** Sets a header, unless the route has set it. */
export function setIfAbsent (reply: FastifyReply, name: string, value: string): Skip | undefined {
  if (reply.hasHeader(name)) return setByRoute
  reply.header(name, value)
}

/** Sets a header about the document that a response has, unless the route has set it. */
export function setOnDocument (reply: FastifyReply, name: string, value: string): Skip | undefined {
  return isRedirect(reply) ? notOnRedirect : setIfAbsent(reply, name, value)
}
