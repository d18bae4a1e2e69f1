import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isOwnHook } from './own-hooks.js'
import { observe, walkErrorPass } from './pass.js'
import { recordedHook, recordRouteHooks } from './application-hooks.js'
import { like } from './stand-in.js'
import { PluginNames } from './plugin-names.js'
import { stateOf } from './request-state.js'

type Callable = (this: unknown, ...args: never[]) => unknown

/** Hooks that run behind the answer, or beside it: Fastify only logs what they raise. */
const BESIDE = new Set(['onResponse', 'onError'])

/**
 * Observes, where failures are kept, what the application brings to failures of its own: an error handler that answers instead of the
 * diagnostic one still has its error pass and its exceptions in the profile, and so has a hook that raises behind the answer.
 */
export function observeApplication (app: FastifyInstance): void {
  const { setErrorHandler, addHook, lifecycle: { fromBeginning } } = app
  const plugins = fromBeginning ? new PluginNames(app) : null
  app.setErrorHandler = function (this: FastifyInstance, handler: unknown) {
    return setErrorHandler.call(this, observedHandler(app, handler) as never)
  } as typeof setErrorHandler
  app.addHook = function (this: FastifyInstance, name: string, hook: unknown) {
    if (typeof hook === 'function' && isOwnHook(hook)) return addHook.call(this, name as never, hook as never)
    const seen = BESIDE.has(name) ? observedHook(hook) : hook
    return addHook.call(this, name as never, (plugins !== null ? recordedHook(plugins.of(this), name, seen) : seen) as never)
  } as unknown as typeof addHook
  app.addHook('onRoute', function observeRoute (route) {
    if (route.errorHandler !== undefined && !isOwnHook(route.errorHandler)) route.errorHandler = observedHandler(app, route.errorHandler) as typeof route.errorHandler
    if (route.onResponse !== undefined) route.onResponse = observedHooks(route.onResponse)
    if (route.onError !== undefined) route.onError = observedHooks(route.onError)
    if (plugins !== null) recordRouteHooks(plugins.of(this), route)
  })
}

function observedHandler (app: FastifyInstance, handler: unknown): unknown {
  if (typeof handler !== 'function') return handler
  return like(handler as Callable, function (this: unknown, ...args: never[]) {
    const [raised, request, reply] = args as unknown as [unknown, FastifyRequest, FastifyReply]
    const state = stateOf(request)
    if (state.failed) state.others.push(state.raised)
    state.pass = 'error'
    state.failed = true
    state.raised = raised
    observe(request, reply)
    walkErrorPass(app, request, reply)
    return (handler as Callable).apply(this, args)
  })
}

function observedHooks<T> (hooks: T): T {
  return (Array.isArray(hooks) ? hooks.map(observedHook) : observedHook(hooks)) as T
}

function observedHook (hook: unknown): unknown {
  if (typeof hook !== 'function') return hook
  return like(hook as Callable, function (this: unknown, ...args: never[]) {
    const [request, reply] = args as unknown as [FastifyRequest, FastifyReply]
    const note = (raised: unknown): void => {
      stateOf(request).others.push(raised)
      request.server.hindsight.keepLate?.(request, reply)
    }
    const done: unknown = args.at(-1)
    if (typeof done === 'function') {
      args[args.length - 1] = ((error?: unknown) => {
        if (error !== undefined && error !== null) note(error)
        return (done as Callable)(error as never)
      }) as never
    }
    try {
      const result = (hook as Callable).apply(this, args)
      return result instanceof Promise
        ? result.catch((raised: unknown) => {
          note(raised)
          throw raised
        })
        : result
    } catch (raised) {
      note(raised)
      throw raised
    }
  })
}
