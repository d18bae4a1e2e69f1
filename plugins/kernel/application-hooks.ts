import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { EventRecorder, HookFrame } from './event-recorder.js'
import type { HookStage } from './events.js'
import { isOwnHook, ownHook } from './own-hooks.js'
import { isPromise } from './promise.js'
import { stateOf, type RequestState } from './request-state.js'
import { like } from './stand-in.js'
import { SlotMemory } from './slot-memory.js'

type Callable = (this: unknown, ...args: unknown[]) => unknown

/** The hooks that a request passes, with whom their replies are the second argument of. */
const HOOKS: ReadonlySet<string> = new Set<HookStage>([
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onError', 'onResponse', 'onTimeout'
])
/** What Fastify adds itself, to the HEAD routes that it makes. */
export const OF_HEAD = 'headRouteOnSendHandler'

/** A hook of the application, as events name it. */
export class HookPlace {
  readonly stage: HookStage
  readonly listener: string
  readonly #plugin: string | null
  readonly #addedAt: Error
  #memory: SlotMemory | null = null

  constructor (stage: HookStage, listener: string, plugin: string | null, addedAt: Error) {
    this.stage = stage
    this.listener = listener
    this.#plugin = plugin
    this.#addedAt = addedAt
  }

  /** What it has done before; where it was added is read from the stack when a request passes it first. */
  memoryOf ({ hindsight: { placeOf } }: FastifyInstance): SlotMemory {
    if (this.#memory !== null) return this.#memory
    const place = placeOf?.(this.#addedAt) ?? null
    const plugin = place?.package ?? this.#plugin
    this.#memory = new SlotMemory({
      index: -1, stage: this.stage, listener: this.listener, ...(plugin !== null && { plugin }), ...(place !== null && { source: place.source })
    })
    return this.#memory
  }
}

/** Records what a hook of the application does, as the listeners' own events are; anything else is given back as it is. */
export function recordedHook (plugin: string | null, name: string, hook: unknown, addedAt = new Error('Added here')): unknown {
  if (!HOOKS.has(name) || typeof hook !== 'function' || isOwnHook(hook) || hook.name === OF_HEAD) return hook
  const place = new HookPlace(name as HookStage, hook.name === '' ? 'anonymous' : hook.name, plugin, addedAt)
  return ownHook(record(hook as Callable, place))
}

/** Records the hooks that a route brings. */
export function recordRouteHooks (plugin: string | null, route: object): void {
  const hooks = route as Record<string, unknown>
  let addedAt: Error | undefined
  for (const name of HOOKS) {
    const own = hooks[name]
    if (own === undefined || own === null) continue
    addedAt ??= new Error('Declared here')
    hooks[name] = Array.isArray(own) ? own.map((hook: unknown) => recordedHook(plugin, name, hook, addedAt)) : recordedHook(plugin, name, own, addedAt)
  }
}

// One call of a hook. Closures of its own would be made anew for each, and named by whoever compiles this.
class HookCall {
  readonly #state: RequestState
  readonly #recorder: EventRecorder
  readonly #reply: FastifyReply
  readonly #place: HookPlace
  readonly #frame: HookFrame
  readonly #sentBefore: boolean
  #isOver = false

  constructor (state: RequestState, recorder: EventRecorder, reply: FastifyReply, place: HookPlace, memory: SlotMemory) {
    this.#state = state
    this.#recorder = recorder
    this.#reply = reply
    this.#place = place
    this.#sentBefore = reply.sent
    this.#frame = recorder.enter(reply, state.pass, memory)
  }

  over (raised?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    const failed = raised !== undefined && raised !== null
    const { stage, listener } = this.#place
    if (failed && this.#frame.pass === 'main' && !this.#state.failed) this.#state.raisedBy = { stage, listener }
    this.#recorder.leave(this.#frame, failed ? 'raised' : this.#reply.sent && !this.#sentBefore ? 'answered' : 'ran', this.#reply)
  }
}

function record (hook: Callable, place: HookPlace): Callable {
  const run: Callable = function (...args) {
    const [request, reply] = args as [FastifyRequest, FastifyReply]
    const state = stateOf(request)
    const { recorder } = state
    if (recorder === null) return hook.apply(this, args)
    const call = new HookCall(state, recorder, reply, place, place.memoryOf(request.server))
    const done = args.at(-1)
    if (typeof done === 'function') args[args.length - 1] = telling(call, done as Callable)
    let result: unknown
    try {
      result = hook.apply(this, args)
    } catch (raised) {
      call.over(raised ?? new Error('A hook threw nothing'))
      throw raised
    }
    if (!isPromise(result)) return result
    // What looks like a promise may do its work each time that it is waited for.
    const settled = Promise.resolve(result)
    settled.then(() => call.over(), (raised: unknown) => call.over(raised ?? new Error('A hook rejected with nothing')))
    return settled
  }
  return like(hook, run)
}

function telling (call: HookCall, done: Callable): Callable {
  return function (...results) {
    call.over(results[0])
    return done.apply(this, results)
  }
}
