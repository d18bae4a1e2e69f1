import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { EventRecorder } from './event-recorder.js'
import type { PassName } from './events.js'

/** Data for a panel of the profile, or a function that makes it, which is called when the profile is built. */
export type Collected = unknown | (() => unknown)

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
  reply: FastifyReply | null = null
  context: RequestContext | null = null
  pass: PassName = 'main'
  /** The route that matched; null before the router listener, and where none did. */
  route: RouteMatch | null = null
  /** Values of a request by name: see `attributesOf`. */
  attributeValues: Record<string, unknown> | null = null
  /** Whether events, headers and log lines of the request are recorded. */
  observed = false
  recorder: EventRecorder | null = null
  /** Whether the request failed. Its error is `raised`, which may be undefined or null. */
  failed = false
  raised: unknown = undefined
  /** The listener or hook that raised, where one did. */
  raisedBy: { stage: string, listener: string } | null = null
  /** Further errors besides `raised`, in the order in which they occurred. */
  readonly otherErrors: unknown[] = []
  /** The not-found or method-not-allowed error of a request without a route that the application answers. */
  routeError: Error | null = null
  /** How many times the hooks of a response began: more than once where one of them failed. */
  responses = 0
  /**
   * When the request began, in milliseconds on the clock of `performance.now()`; 0 where no request is observed. The
   * next five are on the same clock.
   */
  startedAt = 0
  handlerStart = 0
  handlerEnd = 0
  /** When the result of the handler was about to be serialized. */
  serializeStart = 0
  /** When the response was ready to be sent. */
  responseReadyAt = 0
  /** When the response had ended; 0 before. */
  endedAt = 0
  /** Milliseconds since the epoch; 0 where the request is not observed. */
  startedTime = 0
  /** The method that a framework calls as the handler, such as `CatsController.findOne`, and its `file:line`. */
  controller: { name: string, source: string | null } | null = null
  collected: Record<string, Collected> | null = null

  /**
   * Stores data for a panel of the profile if the request is observed. A function is called when the profile is built.
   */
  collect (name: string, data: Collected): void {
    if (this.observed) (this.collected ??= {})[name] = data
  }
}

const kState = Symbol('hindsight.state')

/** The state of a request; made with the first call. */
export function stateOf (request: FastifyRequest): RequestState {
  const holder = request as { [kState]?: RequestState }
  return (holder[kState] ??= new RequestState())
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
  #request: FastifyRequest | WeakRef<FastifyRequest>
  /** Adds an error to the stored profile; absent where there is none. */
  addError?: (error: unknown) => void

  constructor (request: FastifyRequest) {
    this.#request = request
  }

  /** Undefined: the request is over, and its memory was released. */
  get request (): FastifyRequest | undefined {
    return this.#request instanceof WeakRef ? this.#request.deref() : this.#request
  }

  /** To be called when the request is over. */
  release (): void {
    if (!(this.#request instanceof WeakRef)) this.#request = new WeakRef(this.#request)
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
