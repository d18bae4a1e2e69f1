import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Link } from '../http/link.js'
import type { EventRecorder } from './event-recorder.js'
import type { PassName } from './events.js'
import type { Origin } from '../http/request-origin.js'
import type { RouteMatch } from './route-config.js'
import type { TraceContext } from './trace-context.js'
import type { UsageMeter } from './usage.js'

/** What a listener or collector left for the profile: data, or what makes it once somebody wants it. */
export type Collected = unknown | (() => unknown)

/** Everything that Hindsight holds for one request: one object of a fixed shape, made once. */
export class RequestState {
  pass: PassName = 'main'
  /** Whether what happens to the request is recorded, for a profile or for the page of its failure. */
  observed = false
  /** Whether an error pass has begun; `raised` says with what (which may be undefined or null). */
  failed = false
  raised: unknown = undefined
  /** Why no route took the request, where the application answers that itself. */
  missed: Error | null = null
  /** The slot that raised, where a listener did. */
  raisedBy: { stage: string, listener: string } | null = null
  /** Errors beside the one that the response is about, in the order in which they came. */
  readonly others: unknown[] = []
  /** The flattened chain of `raised`, made by the error listener: an array of exceptions. */
  exceptions: unknown = null
  reply: FastifyReply | null = null
  recorder: EventRecorder | null = null
  log: unknown = null
  /** Milliseconds on the clock of `performance.now()`; 0 where no request is observed. */
  startedAt = 0
  /** Milliseconds since the epoch; 0 where no request is observed. */
  startedTime = 0
  /** When the response had ended; 0 before. */
  endedAt = 0
  handlerStart = 0
  handlerEnd = 0
  /** When the handler's result was about to be serialised. */
  serializeStart = 0
  /** When the response was ready to be sent. */
  headAt = 0
  /** Whether the answer of the error handler was made, and whether its `onSend` hooks have begun. */
  errorAnswer: 'none' | 'made' | 'sending' = 'none'
  /** The instance whose hooks the request passes: after `reply.callNotFound()` its `server` is another one. */
  scope: FastifyInstance | null = null
  /** Whether the body of the last response was a stream. */
  streamed = false
  /** Whether an `onSend` hook of the application failed. */
  sendFailed = false
  /** How many times the hooks of a response began: more than once where one of them failed. */
  responses = 0
  usage: UsageMeter | null = null
  /** Whether the end of its response is awaited. */
  followed = false
  origin: Origin | null = null
  maySeeDebug: boolean | null = null
  token = ''
  /** The token of the request that caused this one, where that is known. */
  parent = ''
  /** The token of the profile whose request this one repeats. */
  replayOf = ''
  /** The token of the profile whose request is sent again by this one. */
  replays = ''
  /** The trace that the request is part of. */
  trace: TraceContext | null = null
  /** The status that was sent; 0 before. */
  sentStatus = 0
  /** The headers of the response as they went out; null where it has not. */
  sentHeaders: Record<string, unknown> | null = null
  scriptNonce = ''
  styleNonce = ''
  session: unknown = undefined
  /** The reply that cookies are set on; null ahead of the slot that sessions and cookies begin at. */
  cookieReply: FastifyReply | null = null
  sessionTouched = false
  /** Who sent the request, as far as the firewall has found out. */
  security: unknown = null
  /** Whether somebody was recognised by credentials of any kind: the response is for its client alone. */
  credentialsUsed = false
  /** The method that a framework calls as the handler, such as `CatsController.findOne`, and its `file:line`. */
  controller: { name: string, source: string | null } | null = null
  /** Bodies of the default answers of a framework to what was raised: the diagnostic page may replace them. */
  defaultAnswers: readonly string[] = []
  /** The route that matched; null ahead of the router listener, and where none did. */
  route: RouteMatch | null = null
  /** What listeners know about the request, by name; made when somebody asks. */
  attributeValues: Record<string, unknown> | null = null
  /** The locale, as a BCP 47 tag; empty where nobody has set one. */
  locale = ''
  /** The page that the query asks for. */
  pagination: unknown = null
  /** What the route declares, once the controller-attributes listener has read it. */
  attributes: unknown = null
  /** The path parameters as they were sent, where a converter has replaced them. */
  sentParams: Record<string, unknown> | null = null
  /** What the http-cache listener has found out about the request's preconditions. */
  cache: unknown = null
  /** Whether `Cache-Control` holds nothing but the default for responses that say nothing, or will. */
  defaultCacheControl = false
  /** The template that an object is rendered with; empty where none is. */
  template = ''
  /** Whether the body of the response is one of our own pages, with a policy of its own. */
  ownPolicy = ''
  clientGone = false
  /** Whether the connection was upgraded (RFC 9110, section 7.8): there was no response of Fastify's. */
  upgraded = false
  /** Whether what came in was recorded. */
  requestCollected = false
  /** Whether the body failed when its beginning had been sent. */
  streamFailed = false
  /** Whether a developer has requested this profile: with a CPU profile, or by a replay. */
  demanded = false
  /** What decided the locale of the request. */
  localeSource: 'default' | 'route' | 'accept-language' = 'default'
  /** Whether `Accept-Language` was read, so that caches must know of it. */
  languageRead = false
  /** What the locale-aware services gave out for the request, and for which locale. */
  localeServices: { locale: string, instances: object } | null = null
  /** The links that were added beside those of the route. */
  links: Link[] | null = null
  /** The tags of front-end assets that the response has already. */
  assets: Set<string> | null = null
  collected: Record<string, Collected> | null = null

  /** Whether the handler of the route is at work. */
  get isHandling (): boolean {
    return this.handlerStart !== 0 && this.handlerEnd === 0
  }

  /** Keeps data for a panel of the profile, of a request that is observed; a function is called only when the profile is written. */
  collect (name: string, data: Collected): void {
    if (this.observed) (this.collected ??= {})[name] = data
  }
}

const kState = Symbol('hindsight.state')

/** The state of a request; made at first sight, which is the opening hook for all but synthetic requests. */
export function stateOf (request: FastifyRequest): RequestState {
  const holder = request as { [kState]?: RequestState }
  return (holder[kState] ??= new RequestState())
}
