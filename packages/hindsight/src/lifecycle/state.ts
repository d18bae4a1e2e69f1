import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { cachedByObject } from '../call.js'
import type { DebugAccess } from '../http/debug-access.js'
import type { Origin } from '../http/origin.js'
import type { MalformedMessage } from '../http/refused-message.js'
import type { Mask } from '../mask/mask.js'
import type { EditorLink } from '../view/editor.js'
import { Recording } from '../recording/recording.js'
import type { HookRun } from './event-recorder.js'
import type { HookStage, PassName, Slot } from './events.js'

/** The `config` of a route. */
export type RouteConfig = FastifyRequest['routeOptions']['config'] & RecordedConfig

/** What a route may declare in its `config`. The interface of Fastify is for the names of the application. */
export interface RecordedConfig {
  /** The name of the route in logs and profiles; by default `<METHOD> <pattern>`. */
  name?: string
  /** False: requests of this route are not profiled; `failures`: those with a status below 400 are not. */
  profile?: boolean | 'failures'
  /** True: the route exists only for clients that may see the debug surface. */
  debugOnly?: boolean
  /** True: the route answers only requests by TLS. */
  httpsOnly?: boolean
}

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
 *     declare module '../lifecycle/state.js' {
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
  /** Values of a request by name: see `attributesOf`. */
  attributeValues: Record<string, unknown> | null = null
  /** The path parameters as they were sent, where a lifecycle has converted them. */
  sentParams: Record<string, unknown> | undefined
  /** Whether the response depends on a session of a lifecycle. */
  sessionUsed = false
  readonly recording = new Recording()
  scriptNonce?: string
  styleNonce?: string
  /** The policy of the response if that is a diagnostic page. */
  ownPolicy?: string

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
  /** Records what happens after the response; absent before its profile is made, and where it has none. */
  late?: LateRecorder

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

/** What a framework that runs a lifecycle of its own tells the recorder about itself. */
export interface Lifecycle {
  /** Its stages by name, in order, with the hook of Fastify in which each runs. */
  readonly stages: Readonly<Record<string, HookStage>>
  /** Its listeners, in the order in which it registers them. */
  readonly slots: Slot[]
  /** Its options, with those of the package: an id of the configuration covers them. */
  readonly options: object
  /** The folder for routes: a hint of a missing route names a file in it. */
  readonly routesFolder: string
  /** The hosts of the application: see `originResolver`. Empty: any. */
  readonly trustedHosts: ReadonlyArray<string | RegExp>
  /** The name of the cookie of its sessions; absent where it has none. */
  readonly sessionCookie?: string
  /** Why the lifecycle refused a request; null where it did not. Called when a refused request is explained. */
  readonly refusalOf?: (request: FastifyRequest, status: number) => Refusal | null
}

/** Why a request was refused, or which part of the response a browser rejects. */
export interface Refusal {
  kind: 'credentials' | 'access' | 'method' | 'size' | 'type' | 'rate' | 'cors' | 'csp' | 'cookie'
  /** One sentence for people. */
  sentence: string
  /** The option of Hindsight, Fastify or the route that decides. */
  option: string
}

/** Options of the profiler that are read while requests are handled. */
export interface PartSettings {
  readonly slowQuery?: number
  readonly traceWaits?: boolean
  readonly calledHosts?: readonly string[]
  readonly callBodies?: boolean
}

/**
 * The services of one application, as `app.hindsight`. This interface has those of the lifecycle; each feature declares
 * its own by declaration merging. `begin.ts` and `prepare.ts` set them before the first request.
 */
export interface Services extends DebugAccess {
  /** The application: the pages of the profiler may be answered by another instance. */
  readonly app: FastifyInstance
  /** Of the framework that records its requests; null where an application is only observed. */
  readonly lifecycle: Lifecycle | null
  readonly debug: boolean
  readonly mask: Mask
  readonly originOf: (request: FastifyRequest) => Origin
  /** Makes links that open source in the editor; null if none is configured. */
  readonly editor: EditorLink | null
  /** Called for each message that is refused before it becomes a request; absent where none is recorded. */
  readonly onMalformed?: (message: MalformedMessage) => void
  /** The options of the profiler that parts read. */
  readonly settings: PartSettings
  /** The prefix of the application, without a slash at the end: the paths of the profiler begin with it. */
  readonly base: string
  /** Which requests are recorded: none, those that fail, or all that the options select, from their beginning. */
  readonly recording: 'none' | 'on-failure' | 'always'
  /**
   * Reports problems to operators: to the application's log with a lifecycle, and else as a warning of the process,
   * once.
   */
  readonly warn: (message: string, error?: unknown) => void
  /** Functions that are called when the application is closed: the last one first, one after the other. */
  readonly closing: Array<() => unknown>
  /** Whether the application has begun to close: it is not ready for more requests. */
  readonly isClosing: boolean
  /** To be called when the application begins to close. */
  readonly beginClosing: () => void
  /** The address of the profiler, with a slash at the end; null where the server does not listen on a port. */
  readonly profilerUrl: string | null
}

declare module 'fastify' {
  interface FastifyInstance {
    hindsight: Services
  }
}

/**
 * The services of the application that a request came to: after `reply.callNotFound()` its `server` may be an instance
 * around it that has none.
 */
export function servicesOf (request: FastifyRequest): Services {
  return (stateOf(request).scope ?? request.server).hindsight
}

/**
 * Whether the client of the request in whose asynchronous context a message is injected may see the debug surface: the
 * message is for that client, too. True where there is no such request.
 */
export function mayInject (raw: IncomingMessage): boolean {
  const context = requestContext.getStore()
  const injector = context?.request
  if (context === undefined || injector?.raw === raw) return true
  if (injector === undefined) return context.ofRequest.wasDebugClient
  return servicesOf(injector).mayReceiveDetails(injector)
}

/** Adds to a stored profile what happens after the response. There is no recording when it is too late. */
interface LateRecorder {
  readonly services: Services
  openRecording: () => Recording | undefined
  addError: (error: unknown) => void
}

/** The recording of an asynchronous context, and the services of its application. */
export interface ContextRecording { recording: Recording, services: Services }

/**
 * The recording of an asynchronous context, by default of the current one; undefined: nothing is recorded. After the
 * response it is another recording, which completes the profile.
 */
export function recordingIn (
  context: RequestContext | undefined = requestContext.getStore()
): ContextRecording | undefined {
  const { request, ofRequest: { late } = {} } = context ?? {}
  const recording = late === undefined ? request && recordingOf(request) : late.openRecording()
  const services = late?.services ?? (request && servicesOf(request))
  return recording === undefined || services === undefined ? undefined : { recording, services }
}

const referenceTo = cachedByObject((recording: Recording) => new WeakRef(recording))

/**
 * Makes the function that is called when work has ended. Where the profile was made before, `add` adds the work to what
 * completes it. Work that never ends does not keep its request in memory.
 */
export function onWorkEnd (
  context: RequestContext | undefined, recording: Recording, add: (later: ContextRecording) => void
): () => void {
  const begun = referenceTo(recording)
  const { work } = recording
  return () => {
    work?.sample()
    const later = recordingIn(context)
    if (later !== undefined && later.recording !== begun.deref()) add(later)
  }
}

const warned = new Set<string>()

export function warnOnce (message: string, error?: unknown): void {
  if (warned.has(message)) return
  warned.add(message)
  const reason = error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`
  process.emitWarning(`${message}${reason}`, 'HindsightWarning')
}
