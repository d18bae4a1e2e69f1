import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { declaredPlace } from '../errors/declared-place.js'
import type { HookRun, RecordedFunction } from '../lifecycle/event-recorder.js'
import type { HookStage } from '../lifecycle/events.js'
import { interceptHooks, isOwnHook, isPromise } from '../lifecycle/hooks.js'
import { recordingOf, stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { LastHook } from './handler-time.js'

declare module './recording.js' {
  interface Recording {
    /** Whether an `onSend` hook of the application failed. */
    sendFailed?: boolean
  }
}

type Callable = (this: unknown, ...args: unknown[]) => unknown

/** The hooks that a request passes and whose second argument is the reply. */
const HOOKS: ReadonlySet<string> = new Set<HookStage>([
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onError', 'onResponse',
  'onTimeout'
])
/** Those of them whose third argument is a payload or an error. */
const HAS_PAYLOAD: ReadonlySet<string> = new Set(['onSend', 'preSerialization', 'onError', 'preParsing'])
/** Fastify only logs the errors of these hooks; they do not change the response. */
const ONLY_LOGGED: ReadonlySet<string> = new Set(['onResponse', 'onError'])

/**
 * Records the hooks of an application, in debug mode: `addHook` of the instance is wrapped. `last`: hooks that have to
 * run after those of the application.
 */
export function recordHooks (app: FastifyInstance, last: Readonly<Record<string, LastHook>>): void {
  interceptHooks(app, (instance, name, hook, add) => {
    if (typeof hook === 'function' && isOwnHook(hook)) return add(hook)
    add(recordedHook(instance, name, hook))
    last[name]?.addTo(instance)
  })
}

function recordedHook (instance: FastifyInstance, name: string, hook: unknown): unknown {
  if (!HOOKS.has(name) || typeof hook !== 'function' || isRefused(name, hook)) return hook
  const addedAt = new Error('Added here')
  const plugin = nameOfPlugin(instance)
  const listener = hook.name === '' ? 'anonymous' : hook.name
  let callee: RecordedFunction | undefined

  const call: Callable = function (...args) {
    const [request, reply] = args as [FastifyRequest, FastifyReply]
    const { recording: { events }, pass } = stateOf(request)
    if (events === null) return (hook as Callable).apply(this, args)
    const sentBefore = reply.sent
    // The place is found with the first request: the files of a stack are read for that.
    callee ??= { stage: name as HookStage, listener, index: -1, ...placeOf(addedAt, plugin) }
    const run = events.enter(reply, callee, pass)
    const end = (raised?: unknown): void => {
      if (run.isOver) return
      const failed = raised !== undefined && raised !== null
      events.leave(run, failed ? 'raised' : reply.sent && !sentBefore ? 'answered' : 'ran', reply)
      if (failed) recordRaised(request, reply, run, raised)
    }
    const done = args.at(-1)
    if (typeof done === 'function') {
      args[args.length - 1] = function hindsightDone (this: unknown, ...results: unknown[]) {
        end(results[0])
        return (done as Callable).apply(this, results)
      }
    }
    let result: unknown
    try {
      result = (hook as Callable).apply(this, args)
    } catch (raised) {
      end(raised ?? new Error('A hook threw undefined or null'))
      throw raised
    }
    if (!isPromise(result)) return result
    // Fastify receives the promise of the hook: another one would take longer to settle. A thenable may do its work
    // each time it is awaited.
    const settled = result instanceof Promise ? result : Promise.resolve(result)
    settled.then(() => end(), (raised: unknown) => end(raised ?? new Error('A hook rejected without an error')))
    return settled
  }
  Object.defineProperty(call, 'name', { value: hook.name })
  return Object.defineProperty(call, 'length', { value: hook.length })
}

// Fastify refuses a hook that is asynchronous and takes a callback.
function isRefused (name: string, hook: object): boolean {
  return hook.constructor.name === 'AsyncFunction' && (hook as Callable).length === (HAS_PAYLOAD.has(name) ? 4 : 3)
}

function recordRaised (
  request: FastifyRequest, reply: FastifyReply, { callee: { stage, listener } }: HookRun, raised: unknown
): void {
  const recording = recordingOf(request)
  if (ONLY_LOGGED.has(stage)) {
    servicesOf(request).recorder?.addError(request, raised)
    return
  }
  if (stage === 'onSend') recording.sendFailed = true
  if (recording.failure === null) recording.raisedBy = { stage, listener }
  else recording.addError(raised)
}

/** The package of the file that added a hook, else the plugin; and where it was added, as `file:line`. */
export function placeOf (addedAt: Error, plugin: string | null): { plugin?: string, source?: string } {
  const place = declaredPlace(addedAt)
  const name = place?.package ?? plugin
  return { ...(name !== null && { plugin: name }), ...(place !== null && { source: place.source }) }
}

/**
 * The name of the encapsulated plugin that an instance belongs to; null for the application itself, and for plugins
 * without a name.
 */
export function nameOfPlugin ({ pluginName }: FastifyInstance): string | null {
  const name = pluginName.split(' -> ')[0] ?? ''
  // Fastify calls a plugin without a name by its path or its source; fastify-plugin numbers such plugins.
  const isPath = /[(){}\\/]|=>/.test(name.replace(/^@[^/]+\//, ''))
  if (name === '' || name === 'fastify' || name === 'default' || isPath) return null
  return name.replace(/-auto-\d+$/, '')
}
