import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Recording } from '../recording/recording.js'
import type { HookRun } from './event-recorder.js'
import type { PassName } from './events.js'

/** The `config` of a route. */
export type RouteConfig = FastifyRequest['routeOptions']['config']

/** The route that matched a request. */
export interface RouteMatch {
  name: string
  pattern: string
  params: Record<string, unknown>
}

/**
 * The state of one request. This class has the fields of the lifecycle; each feature declares its own fields by
 * declaration merging, next to the code that uses them:
 *
 *     declare module '../lifecycle/request-state.js' {
 *       interface RequestState { links?: Link[] }
 *     }
 */
export class RequestState {
  /** The instance whose hooks the request passes: after `reply.callNotFound()` its `server` is another one. */
  scope: FastifyInstance | null = null
  context: RequestContext | null = null
  pass: PassName = 'main'
  /** The route that matched; null before the router listener, and where none did. */
  route: RouteMatch | null = null
  /** Whether `request.route` is null again: the listener that publishes the route has released it. */
  isRouteReleased = false
  /** Values of a request by name: see `attributesOf`. */
  attributeValues: Record<string, unknown> | null = null
  readonly recording = new Recording()

  /** Whether something was raised while the request was handled. */
  get failed (): boolean {
    return this.recording.failure !== null
  }
}

const kState = Symbol('hindsight.state')

/** The state of a request; made with the first call. */
export function stateOf (request: FastifyRequest): RequestState {
  const holder = request as { [kState]?: RequestState }
  return (holder[kState] ??= new RequestState())
}

/** What is recorded of a request. */
export function recordingOf (request: FastifyRequest): Recording {
  return stateOf(request).recording
}

/** The state of a request where it has one. Any object may be given: nothing is added to it. */
export function knownStateOf (request: object): RequestState | undefined {
  return (request as { [kState]?: RequestState })[kState]
}

/** Values that listeners and the handler share: `_route`, and the path parameters by their names. */
export function attributesOf (request: FastifyRequest): Record<string, unknown> {
  const state = stateOf(request)
  return (state.attributeValues ??= { _route: state.route?.name ?? null, ...state.route?.params })
}

/** What the route of a request declares; undefined where it has no route of any kind. */
export function routeConfigOf (request: FastifyRequest): RouteConfig | undefined {
  return request.routeOptions.config as RouteConfig | undefined
}

/**
 * The request of an asynchronous context or of a logger: log lines, warnings and uncaught errors are attributed to it.
 * Timers and sockets that were started in a request keep this object for as long as they live, so it references the
 * request only weakly when that is over.
 */
export class RequestContext {
  #request: FastifyRequest | WeakRef<FastifyRequest> | RequestContext
  /** The hook of the application that has started the work of this context. */
  readonly hook: HookRun | null
  /** Whether the client of a request that is over might see the debug surface. */
  wasDebugClient = false

  /** `hook`: for the work of a hook; `of` is the context of its request. */
  constructor (of: FastifyRequest | RequestContext, hook: HookRun | null = null) {
    this.#request = of
    this.hook = hook
  }

  /** The context of the request, which has what is set for all of its work. */
  get ofRequest (): RequestContext {
    return this.#request instanceof RequestContext ? this.#request : this
  }

  /** Undefined: the request is over, and its memory was released. */
  get request (): FastifyRequest | undefined {
    if (this.#request instanceof RequestContext) return this.#request.request
    return this.#request instanceof WeakRef ? this.#request.deref() : this.#request
  }

  /** To be called when the request is over. */
  release (): void {
    const { request } = this
    if (request !== undefined) this.#request = new WeakRef(request)
  }
}

/** The context of a request: always the same. */
export function contextOf (request: FastifyRequest): RequestContext {
  const state = stateOf(request)
  return (state.context ??= new RequestContext(request))
}

export const requestContext = new AsyncLocalStorage<RequestContext | undefined>()

/** The replay of a stored request, in whose asynchronous context that is injected; the request takes the token. */
export const replayContext = new AsyncLocalStorage<{ replayOf?: string | undefined }>()
