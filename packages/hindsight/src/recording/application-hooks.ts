import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { declaredPlace, hookText } from '../errors/declared-place.js'
import type { RecordedFunction } from './event-recorder.js'
import type { HookStage, Outcome } from './events.js'
import { interceptHooks, isInternalHook, isPromise, internalHook, type LastHook } from './hooks.js'
import { requestContext, RequestContext, traceOf, type RequestTrace } from './trace.js'

type Callable = (this: unknown, ...args: unknown[]) => unknown

/** The hooks that a request passes and whose second argument is the reply. */
const HOOKS: ReadonlySet<string> = new Set<HookStage>([
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onError', 'onResponse',
  'onTimeout'
])
/** Those of them whose third argument is a payload or an error. */
const HAS_PAYLOAD: ReadonlySet<string> = new Set(['onSend', 'preSerialization', 'onError', 'preParsing'])
/** Errors of these hooks do not change the response: Fastify logs or ignores them. */
const WITHOUT_EFFECT = ['onResponse', 'onError', 'onTimeout', 'onRequestAbort'] as const
/** The hooks that may return another payload. */
const OF_PAYLOAD: ReadonlySet<string> = new Set(['preSerialization', 'onSend'])

/**
 * Records the hooks of an application, in debug mode: `addHook` of the instance is wrapped. `last`: hooks that have to
 * run after those of the application.
 */
export function recordHooks (app: FastifyInstance, last: Readonly<Record<string, LastHook>>): void {
  interceptHooks(app, (instance, name, hook, add) => {
    if (typeof hook === 'function' && isInternalHook(hook)) return add(hook)
    add(recordedHook(instance, name, hook, HOOKS.has(name)))
    if (typeof hook === 'function' && HOOKS.has(name)) app.hindsight.routeTable.addHook(instance, name, hook)
    last[name]?.addTo(instance)
  })
  // Hooks of a route are not listed.
  app.addHook('onRoute', function recordErrors (route) {
    for (const name of WITHOUT_EFFECT) {
      const hooks = route[name]
      const record = (hook: unknown): unknown => recordedHook(this, name, hook, false)
      if (hooks !== undefined) route[name] = (Array.isArray(hooks) ? hooks.map(record) : record(hooks)) as []
    }
  })
}

/** A hook that records its errors, its payload and, where it is listed, its event. */
function recordedHook (instance: FastifyInstance, name: string, hook: unknown, isListed: boolean): unknown {
  const mayFail = isListed || WITHOUT_EFFECT.includes(name as 'onError')
  if (!mayFail || typeof hook !== 'function' || isRefused(name, hook) || isInternalHook(hook)) return hook
  const addedAt = new Error('Added here')
  const callee = describe(name as HookStage, hook.name, addedAt, instance.pluginName)

  const call: Callable = function (...args) {
    const [request, reply, given] = args as [FastifyRequest, FastifyReply, unknown]
    const trace = traceOf(request)
    const { recording: { events, sending }, pass } = trace
    if (events === null) return (hook as Callable).apply(this, args)
    const sentBefore = isListed && reply.sent
    const run = isListed ? events.enter(reply, callee, pass) : null
    const outer = requestContext.getStore()
    const inner = run === null || outer?.trace !== trace ? outer : new RequestContext(trace.context, run)
    const end = (raised: unknown, payload?: unknown): void => {
      if (run?.isOver === true) return
      events.calledBackWith = undefined
      const failed = raised !== undefined && raised !== null
      // Of two responses at the same time, the other one may have been sent.
      const isAnswer = reply.sent && !sentBefore && sending.again === undefined
      if (run !== null) events.leave(run, outcomeOf(failed, isAnswer), reply)
      if (failed) recordRaised(trace, callee, raised)
      // A hook may return the payload that it has received.
      else if (OF_PAYLOAD.has(name) && payload !== undefined && payload !== given) {
        sending.replace(callee)
      }
    }
    let isCalled = false
    const done = args.at(-1)
    if (typeof done === 'function') {
      args[args.length - 1] = function hindsightDone (this: unknown, ...results: unknown[]) {
        // Fastify runs what follows the hook again.
        if (run !== null && isCalled) addError(trace, new Error(`The ${hookText(callee)} has called done twice`))
        isCalled = true
        // A falsy error is none where another hook follows.
        end(results[0] || undefined, results[1])
        events.calledBackWith = results[0] as Error | undefined
        const current = requestContext.getStore()
        requestContext.enterWith(outer)
        try {
          return (done as Callable).apply(this, results)
        } finally {
          requestContext.enterWith(current)
        }
      }
    }
    let result: unknown
    try {
      // Not `run`, which would be in the stacks of the application.
      requestContext.enterWith(inner)
      result = (hook as Callable).apply(this, args)
      // A thenable, such as a query, may do its work each time it is awaited.
      if (isPromise(result) && !(result instanceof Promise)) result = Promise.resolve(result)
    } catch (raised) {
      end(raised ?? new Error('A hook threw undefined or null'))
      throw raised
    } finally {
      requestContext.enterWith(outer)
    }
    if (!(result instanceof Promise)) return result
    // Fastify receives the promise of the hook: another one would take longer to settle.
    const failed = (raised: unknown): void => end(raised ?? new Error('A hook rejected without an error'))
    result.then((payload) => end(undefined, payload), failed)
    return result
  }
  Object.defineProperty(call, 'name', { value: hook.name })
  Object.defineProperty(call, 'length', { value: hook.length })
  // Fastify adds a HEAD route with the hooks of a GET route.
  return isListed ? call : internalHook(call)
}

/** A hook as its events name it. Its place is found when a profile is built: the files of a stack are read for that. */
function describe (stage: HookStage, name: string, addedAt: Error, pluginName: string): RecordedFunction {
  const place = () => hookOrigin(addedAt, pluginName)
  return {
    stage,
    index: -1,
    get listener () { return name || place().plugin || stage },
    get plugin () { return place().plugin },
    get source () { return place().source }
  }
}

// Fastify refuses a hook that is asynchronous and takes a callback.
function isRefused (name: string, hook: object): boolean {
  const { length } = hook as Callable
  if (hook.constructor.name !== 'AsyncFunction') return false
  if (name === 'onRequestAbort') return length !== 1
  return length === (HAS_PAYLOAD.has(name) ? 4 : 3)
}

function outcomeOf (failed: boolean, isAnswer: boolean): Outcome {
  if (failed) return 'raised'
  return isAnswer ? 'answered' : 'ran'
}

function addError (trace: RequestTrace, error: unknown): void {
  trace.scope.hindsight.recorder?.addError(trace, error)
}

function recordRaised (trace: RequestTrace, hook: RecordedFunction, raised: unknown): void {
  const { recording } = trace
  if (WITHOUT_EFFECT.includes(hook.stage as 'onError')) return addError(trace, raised)
  if (hook.stage === 'onSend') recording.sending.failHook(hook, raised)
  // Fastify drops it.
  else if (trace.reply.sent) return addError(trace, raised)
  if (recording.failure === null) recording.raisedBy = hook
  else recording.addError(raised)
}

/**
 * The package of the file that added a hook, else the plugin; and where it was added, as `file:line`. `pluginName` is
 * that of the instance at this time.
 */
export function hookOrigin (addedAt: Error, pluginName: string): { plugin?: string, source?: string } {
  const place = declaredPlace(addedAt)
  // The first name is that of the encapsulated plugin; each plugin that is not encapsulated adds one when it is loaded.
  const name = place?.package ?? nameOfPlugin(pluginName.split(' -> ').at(place?.isLoading === true ? -1 : 0))
  return { ...(name !== null && { plugin: name }), ...(place !== null && { source: place.source }) }
}

/** The name of a plugin; null for the application itself, and for plugins without a name. */
function nameOfPlugin (name = ''): string | null {
  // Fastify calls a plugin without a name by its path or its source; fastify-plugin numbers such plugins.
  const isPath = /[(){}\\/]|=>/.test(name.replace(/^@[^/]+\//, ''))
  if (name === '' || name === 'fastify' || name === 'default' || isPath) return null
  return name.replace(/-auto-\d+$/, '')
}
