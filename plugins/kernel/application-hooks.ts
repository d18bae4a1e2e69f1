import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HookStage } from './events.js'
import { isOwnHook, ownHook } from './own-hooks.js'
import { isPromise } from './promise.js'
import { stateOf } from './request-state.js'
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

function record (hook: Callable, place: HookPlace): Callable {
  const run: Callable = function (...args) {
    const [request, reply] = args as [FastifyRequest, FastifyReply]
    const state = stateOf(request)
    const { recorder, pass } = state
    if (recorder === null) return hook.apply(this, args)
    const sentBefore = reply.sent
    const frame = recorder.enter(reply, pass, place.memoryOf(request.server))
    let isOver = false
    const over = (raised?: unknown): void => {
      if (isOver) return
      isOver = true
      const failed = raised !== undefined && raised !== null
      if (failed && pass === 'main' && !state.failed) state.raisedBy = { stage: place.stage, listener: place.listener }
      recorder.leave(frame, failed ? 'raised' : reply.sent && !sentBefore ? 'answered' : 'ran', reply)
    }
    const done = args.at(-1)
    if (typeof done === 'function') {
      args[args.length - 1] = function (this: unknown, ...results: unknown[]) {
        over(results[0])
        return (done as Callable).apply(this, results)
      }
    }
    let result: unknown
    try {
      result = hook.apply(this, args)
    } catch (raised) {
      over(raised ?? new Error('A hook threw nothing'))
      throw raised
    }
    if (!isPromise(result)) return result
    // What looks like a promise may do its work each time that it is waited for.
    const settled = Promise.resolve(result)
    settled.then(() => over(), (raised: unknown) => over(raised ?? new Error('A hook rejected with nothing')))
    return settled
  }
  return like(hook, run)
}
