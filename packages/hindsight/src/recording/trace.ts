import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { cachedByObject } from '../call.js'
import type { DebugAccess } from '../http/debug-access.js'
import type { Origin } from '../http/origin.js'
import { targetOf } from '../http/requests.js'
import type { MalformedMessage } from '../http/refused-message.js'
import type { Mask } from '../mask/mask.js'
import type { EditorLink } from '../view/editor.js'
import { Recording, type JobFacts, type Slot as PartSlot } from './recording.js'
import { payloadName } from './sending.js'
import { routeConfigOf, type DeclaredRoute, type RouteMatch, type RouteTable } from '../routing/route-table.js'
import type { HookRun } from './event-recorder.js'
import type { HookStage, PassName, Slot } from './events.js'

/** Paths in which a `:code` with digits is a secret, as in `/verify/482913`; in `/countries/:code` it is none. */
const CODE_PATH = /\/(?:verif|confirm|activat|invit|reset|magic|otp|[2m]fa|redeem|unlock|log-?in|sign-?in)/i

function namedParams (url: string, params: unknown): unknown {
  const { code } = Object(params) as { code?: unknown }
  const isSecret = /^(?=.*\d).{4,}/.test(String(code)) && CODE_PATH.test(url)
  return isSecret ? { ...params as object, verificationCode: code } : params
}

/** The services that all work has, also where no application runs: then it has no `app`. */
export type WorkServices =
  Pick<Services, 'debug' | 'lifecycle' | 'mask' | 'settings' | 'warn'> & Partial<Pick<Services, 'app'>>

/** Work that is recorded, a request or another one: what is recorded of it, and the services of its application. */
export abstract class WorkTrace {
  abstract readonly services: WorkServices
  /** The mask for its data. */
  abstract readonly mask: Mask
  /** Whether the recorder has begun it. */
  abstract readonly hasBegun: boolean
  /** Whether its result was sent or returned: what it raises now is late. */
  abstract readonly hasResult: boolean
  #recording: Recording | null = null
  #context: RequestContext | undefined

  /** What is recorded of it; made with the first call. In production most requests need none. */
  get recording (): Recording {
    return (this.#recording ??= this.openRecording())
  }

  protected openRecording (): Recording {
    return new Recording()
  }

  protected get hasRecording (): boolean {
    return this.#recording !== null
  }

  /** Whether events, headers and log lines are recorded. */
  get isRecording (): boolean {
    return this.#recording !== null && this.#recording.isRecording
  }

  /** Keeps something for a part of the profile if the work is recorded. */
  collect<T> (part: PartSlot<T>, value: T): void {
    if (this.isRecording) this.recording.set(part, value)
  }

  /** Whether something was raised meanwhile. */
  get failed (): boolean {
    return this.#recording !== null && this.#recording.failure !== null
  }

  /** Its asynchronous context. */
  get context (): RequestContext {
    return (this.#context ??= new RequestContext(this))
  }
}

/** The plugins of an application in their order, and the steps of its start; times in milliseconds. */
export interface StartData {
  plugins: Array<{ name: string, duration: number }>
  steps: Array<{ name: string, start: number, duration: number }>
}

/** What an application says about a job. */
export interface JobOptions {
  /** Default: `job`. */
  kind?: JobFacts['kind']
  /** What it works on; the profile has a masked copy. */
  input?: unknown
  /** The name of the job in its queue: attempts with the same name and id are one row of the list. */
  id?: string | number
  /** From 1 on. */
  attempt?: number
  /** When it was queued: a date, or milliseconds since the epoch. */
  queuedAt?: Date | number
  /** The token of the profile of the request that has queued it; default: that in whose work it runs. */
  parent?: string | null | undefined
}

/** The work, after what is said about it. */
export type JobArguments<T> = [work: () => T] | [options: JobOptions, work: () => T]

/** Runs a job by what records it, or without a record; `at`: its stack has the place of the job. */
export async function runJob<T> (
  runner: JobRunner | null | Promise<JobRunner | null>, name: string, rest: JobArguments<T>, at?: Error
): Promise<Awaited<T>> {
  const [options, work] = rest.length === 1 ? [{}, ...rest] : rest
  if (typeof work !== 'function') throw new TypeError('profile(name, options, work): work must be a function')
  if (runner === null) return await work()
  const call = { at: at ?? new Error('Called here'), time: Date.now() }
  const jobs = await runner
  if (jobs === null) return await work()
  return await jobs.run(name, options, work, call)
}

/** Runs jobs, and records them. */
export interface JobRunner {
  run: <T>(name: string, options: JobOptions, work: () => T, call: JobCall) => Promise<Awaited<T>>
  /** Ends work that was begun elsewhere. */
  end: (trace: JobTrace) => void
  fail: (trace: JobTrace, error: unknown) => void
}

/** Where a job was begun, as a stack, and when, in milliseconds since the epoch. */
export interface JobCall { at: Error, time: number }

/** Work outside of requests: a job of a queue, a task of a schedule, a command, or the start of an application. */
export class JobTrace extends WorkTrace {
  readonly services: WorkServices
  readonly facts: JobFacts
  /** What it works on, as a copy; undefined: unknown. */
  readonly input: unknown
  /** What it has returned, as a copy. */
  result: unknown
  /** Of the start of an application: its plugins and steps. */
  start?: StartData
  /** Its stack has the call that has begun it. */
  readonly calledAt: Error
  override readonly hasBegun = true

  constructor (services: WorkServices, facts: JobFacts, input: unknown, calledAt: Error) {
    super()
    this.services = services
    this.facts = facts
    this.input = input
    this.calledAt = calledAt
    // It has no client of its own: what it injects is for that of the request in which it began, through other jobs.
    this.context.wasDebugClient = isForDebugClient()
  }

  get hasResult (): boolean {
    return this.recording.isOver
  }

  get mask (): Mask {
    return this.services.mask.withTexts(this.recording.secretTexts?.() ?? [])
  }
}

/** One request: what is recorded of it, and the services of its application. Hooks pass it down. */
export class RequestTrace extends WorkTrace {
  readonly request: FastifyRequest
  /** The instance whose hooks the request passes: after `reply.callNotFound()` its `server` is another one. */
  readonly scope: FastifyInstance
  /** The route that matched; null before the router listener, and where none did. */
  route: RouteMatch | null = null
  pass: PassName = 'main'
  /** Values of a request by name: see `attributesOf`. */
  attributeValues: Record<string, unknown> | null = null
  /** The path parameters as they were sent, where a lifecycle has converted them. */
  sentParams: Record<string, unknown> | undefined
  /** Whether the response depends on a session of a lifecycle. */
  sessionUsed = false
  scriptNonce = ''
  styleNonce = ''
  /** The policy of the response if that is a diagnostic page. */
  diagnosticPolicy: string | undefined
  #responded: FastifyReply | null = null
  #respondedWith: string | undefined
  #reply: FastifyReply | null = null
  #mask: Mask | undefined

  constructor (request: FastifyRequest) {
    super()
    this.request = request
    this.scope = request.server
  }

  /** The services of the application that the request came to. */
  get services (): Services {
    return this.scope.hindsight
  }

  /** Whether the recorder has begun the request: it has a reply then. */
  get hasBegun (): boolean {
    return this.#reply !== null
  }

  get reply (): FastifyReply {
    if (this.#reply === null) throw new Error('The request has not begun')
    return this.#reply
  }

  /** To be called by the first hook of the request. */
  begin (reply: FastifyReply): void {
    this.#reply = reply
  }

  get hasResult (): boolean {
    return this.#reply !== null && this.#reply.sent
  }

  protected override openRecording (): Recording {
    const recording = super.openRecording()
    if (this.#responded !== null) recording.sending.begin(this.#responded, this.#respondedWith, false, false)
    return recording
  }

  /** A response begins to pass the hooks: to be called by the first one. */
  beginResponse (reply: FastifyReply, payload: unknown): void {
    const what = payloadName(payload)
    if (!this.hasRecording && this.#responded === null) {
      this.#responded = reply
      this.#respondedWith = what
      return
    }
    const { failure, isRecording, sending } = this.recording
    sending.begin(reply, what, failure !== null, isRecording)
  }

  /** Whether the response that has begun follows one of the error handler of a lifecycle. */
  get followsAnswer (): boolean {
    return this.hasRecording && this.recording.sending.followsAnswer
  }

  /** The `Accept` header as it was received: a validator may remove it from the headers of the request. */
  get accept (): string | undefined {
    const received = this.recording.unvalidated?.headers?.value as { accept?: string } | undefined
    return received === undefined ? this.request.headers.accept : received.accept
  }

  /** The route as it was declared; null where none matched. */
  get declaredRoute (): DeclaredRoute | null {
    return this.services.routeTable.of(this.request, this.route)
  }

  /**
   * The mask for data of the request: it also masks path parameters with secret names, in every text. They are those of
   * the request and of its `Referer`, as the routes of the application name them. So it does secrets of its queries.
   */
  get mask (): Mask {
    const { request, services: { mask } } = this
    // The token in the path of a profiler page is no secret to its reader.
    if (routeConfigOf(request)?.debugOnly === true) return mask
    return this.#maskOfRequest().withTexts(this.recording.secretTexts?.() ?? [])
  }

  /** Masks the path parameters of a URL, too, such as that of a redirect. */
  hideParamsOf (url: unknown): void {
    this.#mask = this.#withParamsOf(url, this.#maskOfRequest())
  }

  // Made at the beginning of the request: later code may replace its path parameters.
  #maskOfRequest (): Mask {
    if (this.#mask !== undefined) return this.#mask
    const { request } = this
    const ofRequest = this.services.mask.withParams(namedParams(request.url, request.params))
    const withReferer = this.#withParamsOf(request.headers.referer, ofRequest)
    // Of a 404, the path may have a route of another method.
    this.#mask = request.is404 ? this.#withParamsOf(targetOf(request), withReferer) : withReferer
    return this.#mask
  }

  #withParamsOf (url: unknown, mask: Mask): Mask {
    if (typeof url !== 'string') return mask
    return mask.withParams(namedParams(url, this.services.routeTable.paramsOf(url, this.request)))
  }
}

const kTrace = Symbol('hindsight.trace')

/** The trace of a request, for hooks; the first one makes it. */
export function traceOf (request: FastifyRequest): RequestTrace {
  const holder = request as { [kTrace]?: RequestTrace }
  return (holder[kTrace] ??= new RequestTrace(request))
}

/** The trace of a request where it has one. Any object may be given: nothing is added to it. */
export function knownTraceOf (request: object): RequestTrace | undefined {
  return (request as { [kTrace]?: RequestTrace })[kTrace]
}

/** Values that listeners and the handler share: `_route`, and the path parameters by their names. */
export function attributesOf (trace: RequestTrace): Record<string, unknown> {
  return (trace.attributeValues ??= { _route: trace.route?.name ?? null, ...trace.route?.params })
}

/**
 * The request or job of an asynchronous context or of a logger: log lines, warnings and uncaught errors belong to it.
 * Timers and sockets that were started in a request keep this object for as long as they live, so it references the
 * request only weakly when that is over.
 */
export class RequestContext {
  #trace: WorkTrace | WeakRef<WorkTrace> | RequestContext
  /** The hook of the application that has started the work of this context. */
  readonly hook: HookRun | null
  /** Whether the client of a request that is over, or of that in which a job began, might see the debug surface. */
  wasDebugClient = false
  /** Records what happens after the response; absent before its profile is made, and where it has none. */
  late?: LateRecorder

  /** `hook`: for the work of a hook; `of` is the context of its request. */
  constructor (of: WorkTrace | RequestContext, hook: HookRun | null = null) {
    this.#trace = of
    this.hook = hook
  }

  /** The context of the request, which has what is set for all of its work. */
  get ofRequest (): RequestContext {
    return this.#trace instanceof RequestContext ? this.#trace : this
  }

  /** Undefined: the work is over, and its memory was released. */
  get trace (): WorkTrace | undefined {
    if (this.#trace instanceof RequestContext) return this.#trace.trace
    return this.#trace instanceof WeakRef ? this.#trace.deref() : this.#trace
  }

  /** The same where it is a request. */
  get request (): RequestTrace | undefined {
    const { trace } = this
    return trace instanceof RequestTrace ? trace : undefined
  }

  /** To be called when the request is over. */
  release (): void {
    const { trace } = this
    if (trace !== undefined) this.#trace = new WeakRef(trace)
  }
}

export const requestContext = new AsyncLocalStorage<RequestContext | undefined>()

/** The work of the process itself: what belongs to no other context, until the application listens. */
let processContext: RequestContext | undefined

export function setProcessContext (context: RequestContext | undefined): void {
  processContext = context
}

/** The current asynchronous context, or else that of the process. */
export function currentContext (): RequestContext | undefined {
  return requestContext.getStore() ?? processContext
}

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
  readonly refusalOf?: (trace: RequestTrace, status: number) => Refusal | null
}

/** Why a request was refused, or which part of the response a browser rejects. */
export interface Refusal {
  kind: 'credentials' | 'access' | 'method' | 'size' | 'type' | 'rate' | 'cors' | 'csp' | 'cookie'
  /** One sentence for people. */
  sentence: string
  /** The option of Hindsight, Fastify or the route that decides. */
  option: string
}

/** Options that parts read while requests are handled. */
export interface PartSettings {
  readonly dataDir?: string
  readonly slowQuery?: number
  readonly traceWaits?: boolean
  readonly calledHosts?: readonly string[]
  readonly callBodies?: boolean
  readonly queries?: boolean
  readonly values?: boolean
}

/** Functions that are called when an application is closed: the last one first, one after the other. */
class ClosingFunctions extends Array<() => unknown> {
  /** Whether the application has begun to close: it is not ready for more requests. */
  hasBegun = false
}

/** What an application has from the registration on, also where it records nothing. */
export class ApplicationSetup {
  /** The application: the pages of the profiler may be answered by another instance. */
  readonly app: FastifyInstance
  /** Of the framework that records its requests; null where an application is only observed. */
  readonly lifecycle: Lifecycle | null
  readonly debug: boolean
  /** Which requests are recorded: none, those that fail, or all that the options select, from their beginning. */
  readonly recording: 'none' | 'on-failure' | 'always'
  readonly routeTable: RouteTable
  /** The prefix of the application, without a slash at the end: the paths of the profiler begin with it. */
  readonly base: string
  readonly closing: ClosingFunctions
  /** Resolves when the services are made, to what runs jobs; null: jobs are not recorded. */
  readonly jobs: Promise<JobRunner | null>
  /** Whether requests are profiled: there are pages. */
  readonly hasProfiles: boolean = false

  constructor (
    { app, lifecycle, debug, recording, routeTable, jobs, closing = new ClosingFunctions() }: SetupOptions
  ) {
    this.app = app
    this.lifecycle = lifecycle
    this.debug = debug
    this.recording = recording
    this.routeTable = routeTable
    this.base = app.prefix.replace(/\/$/, '')
    this.closing = closing
    this.jobs = jobs
  }

  /**
   * Reports problems to operators: to the application's log with a lifecycle, and else as a warning of the process,
   * once.
   */
  readonly warn = (message: string, error?: unknown): void => {
    if (this.lifecycle === null) warnOnce(message, error)
    else this.app.log.warn({ ...(error !== undefined && { err: error }), channel: 'profiler' }, message)
  }

  /** Runs work and profiles it, as the exported function does, with the store of this application. */
  readonly profile = async <T>(name: string, ...rest: JobArguments<T>): Promise<Awaited<T>> =>
    await runJob(this.recording === 'none' ? null : this.jobs, name, rest)

  /** Whether the application has begun to close. */
  get isClosing (): boolean {
    return this.closing.hasBegun
  }

  /** To be called when the application begins to close. */
  beginClosing (): void {
    this.closing.hasBegun = true
  }

  /** The address of the profiler, with a slash at the end; null where the server does not listen on a port. */
  get profilerUrl (): string | null {
    const { app } = this
    // A Unix socket has a path.
    if (!app.server.listening || !app.listeningOrigin.startsWith('http')) return null
    const origin = app.listeningOrigin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
    return `${origin}${this.base}/_profiler/`
  }
}

type SetupOptions = Pick<ApplicationSetup, 'app' | 'lifecycle' | 'debug' | 'recording' | 'routeTable' | 'jobs'> &
  { closing?: ClosingFunctions }

/** The services of an application for the requests that it records. */
export interface Services extends ApplicationSetup, DebugAccess {
  readonly mask: Mask
  /** The options of the profiler that parts read. */
  readonly settings: PartSettings
  readonly originOf: (request: FastifyRequest) => Origin
  /** Makes links that open source in the editor; null if none is configured. */
  readonly editor: EditorLink | null
  /** Called for each message that is refused before it becomes a request; absent where none is recorded. */
  readonly onMalformed?: ((message: MalformedMessage) => void) | undefined
}

/**
 * Whether the client of the request in whose asynchronous context a message is injected may see the debug surface: the
 * message is for that client, too. True where there is no such request.
 */
export function mayInject (raw: IncomingMessage): boolean {
  return requestContext.getStore()?.request?.request.raw === raw || isForDebugClient()
}

/** The same for work that begins in the current asynchronous context. */
function isForDebugClient (): boolean {
  const context = requestContext.getStore()
  if (context === undefined) return true
  const { request, ofRequest } = context
  return request === undefined ? ofRequest.wasDebugClient : request.services.mayReceiveDetails(request.request)
}

/** Adds to a stored profile what happens after the response. There is no recording when it is too late. */
export interface LateRecorder {
  /** That of the profile. */
  readonly token: string
  readonly services: WorkServices
  /** To be called when the profile was made, with the mask of its request; false: it was made before. */
  begin: (mask: Mask) => boolean
  openRecording: () => Recording | undefined
  addError: (error: unknown) => void
}

/** The recording of an asynchronous context, and the services of its application. */
export interface ContextRecording { recording: Recording, services: WorkServices }

/**
 * The recording of an asynchronous context, by default of the current one; undefined: nothing is recorded. After the
 * response it is another recording, which completes the profile.
 */
export function recordingIn (
  context: RequestContext | undefined = currentContext()
): ContextRecording | undefined {
  const { trace, ofRequest: { late } = {} } = context ?? {}
  const recording = late === undefined ? trace?.recording : late.openRecording()
  const services = late?.services ?? trace?.services
  return recording === undefined || services === undefined ? undefined : { recording, services }
}

/** The hook of the application in whose asynchronous context this is called, if that belongs to a recording. */
export function currentHook (recording: Recording): HookRun | null {
  const { hook = null } = requestContext.getStore() ?? {}
  return hook !== null && recordingIn()?.recording === recording ? hook : null
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
  let text = message
  if (error !== undefined) text += `: ${error instanceof Error ? error.message : String(error)}`
  process.emitWarning(text, 'HindsightWarning')
}
