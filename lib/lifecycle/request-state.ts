import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { EventRecorder } from './event-recorder.js'
import type { PassName } from './events.js'

/** Data for a panel of the profile, or a function that makes it, which is called when the profile is built. */
export type Collected = unknown | (() => unknown)

/** What the route of a request was declared with. */
export type RouteConfig = FastifyRequest['routeOptions']['config']

/** The route that matched a request. */
export interface RouteMatch {
  name: string
  pattern: string
  params: Record<string, unknown>
}

/**
 * What Hindsight holds for one request: here what the lifecycle itself uses. Each feature declares its own fields by
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
  pass: PassName = 'main'
  /** The route that matched; null before the router listener, and where none did. */
  route: RouteMatch | null = null
  /** Values of a request by name: see `attributesOf`. */
  attributeValues: Record<string, unknown> | null = null
  /** Whether what happens to the request is recorded, for a profile or for the page of its failure. */
  observed = false
  recorder: EventRecorder | null = null
  /** Whether something was raised: `raised`, which may be undefined or null. */
  failed = false
  raised: unknown = undefined
  /** The listener or hook that raised, where one did. */
  raisedBy: { stage: string, listener: string } | null = null
  /** Errors beside the one that the response is about, in the order in which they came. */
  readonly otherErrors: unknown[] = []
  /** Why no route took the request, where the application answers that itself. */
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

  /** Whether the handler of the route is running. */
  get isHandling (): boolean {
    return this.handlerStart !== 0 && this.handlerEnd === 0
  }

  /**
   * Keeps data for a panel of the profile, of a request that is observed; a function is called when the profile is
   * built.
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
 * The request that a piece of work belongs to, where that one is observed: log lines, warnings and stray errors are
 * attributed by it.
 */
interface RequestContext {
  request: FastifyRequest
  reply: FastifyReply
}

export const requestContext = new AsyncLocalStorage<RequestContext | undefined>()
