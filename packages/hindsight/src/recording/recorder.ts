import type { FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { attemptCall, callsBefore } from '../call.js'
import { performance } from '../clock.js'
import { doInternalWork } from './event-loop.js'
import { exceptionsOf } from '../errors/masked-exceptions.js'
import { bufferBody } from '../errors/rejected-input.js'
import { ClientGoneError, NoResponseError } from '../http/http-errors.js'
import { isProfilePath, pathnameOf } from '../http/requests.js'
import { EventRecorder } from './event-recorder.js'
import { inspection } from '../inspection/inspection.js'
import { codeOf, isError, messageOf, textOfStack } from '../errors/thrown-value.js'
import { JobTrace, replayContext, requestContext, type RequestTrace } from './trace.js'
import type { ProfilerSettings } from '../options.js'
import { WorkLog } from './work-log.js'
import type { Part, PublishedServices } from '../parts/part.js'
import { routeErrorOf } from '../routing/no-match.js'
import type { LogCapture } from '../logs/log-capture.js'
import type { Profile } from '../store/profile.js'
import type { Profiler } from '../store/profiler.js'
import { endHandler, setCurrentCode } from './handler-time.js'
import { openLogs } from './process-events.js'
import { JobRecorder } from './jobs.js'
import { applicationData, Profiles, releaseRequest, type ProfileAddress } from './profiles.js'
import type { Recording } from './recording.js'
import type { Ending } from './sending.js'
import { unserializedError } from './unserialized-error.js'
import { watchWebSockets } from './web-sockets.js'
import { oldRequests, waitingRequest, type WaitingRequest } from './waiting.js'

/** The calls that led to one of `send`, at most: instrumentation may have wrapped it. */
const MAX_CALLS = 5

/**
 * Records the requests of an application, from their beginning to their profiles. Hooks of Hindsight, or of a
 * lifecycle, call its methods, in the order in which they are here.
 */
export class Recorder {
  readonly #services: PublishedServices
  readonly #profiler: Profiler | null
  /** The recorded requests whose responses have not ended, in the order of their arrival. */
  readonly #open = new Set<RequestTrace>()
  readonly #profiles: Profiles | null = null
  readonly #logs: LogCapture
  /** Records the jobs of the application; null where nothing is profiled. */
  readonly jobs: JobRecorder | null = null
  /** The message of the request that began last; undefined after a request has ended. */
  #newest: FastifyRequest['raw'] | undefined

  /** `settings`: null where no request is profiled; then failures are recorded for their diagnostic pages only. */
  constructor (
    services: PublishedServices, profiler: Profiler | null, settings: ProfilerSettings | null, options: object
  ) {
    this.#services = services
    this.#profiler = profiler
    if (settings !== null && profiler !== null) {
      const ofApplication = applicationData(services, options)
      const jobs = new JobRecorder({ services, settings, ofApplication, recordsAll: services.recording === 'always' })
      const [open, complete] = [this.#open, this.#complete]
      this.jobs = jobs
      this.#profiles = new Profiles({ services, profiler, settings, ofApplication, jobs, open, complete })
    }
    this.#logs = openLogs(services, this)
  }

  /** Starts the parts of the application, which read its published services. */
  start (): void {
    const { app, closing, parts, recording } = this.#services
    // Otherwise no request has an asynchronous context of its own.
    if (recording === 'always') closing.push(...parts.flatMap((part) => part.start?.(app) ?? []))
  }

  /** Begins a request, before its first listener or hook. */
  begin (trace: RequestTrace): void {
    // The first request loads modules.
    doInternalWork(() => this.#begin(trace))
  }

  #begin (trace: RequestTrace): void {
    const { request, recording, services } = trace
    const { base, debug, recording: setting } = services
    const isInjected = isInjection(request.raw)
    // Its result is kept. It is called now, as it reads the request that injected this one from the asynchronous
    // context, which will be that of this request.
    if (debug && isInjected) services.isDebugClient(request)
    if (debug && request.headers['content-type'] !== undefined) bufferBody(trace)
    const isReplay = isInjected && recordReplay(recording)
    this.#newest = request.raw
    inspection.stepAside()
    recording.rests = inspection.rests
    recording.timing.startedAt = performance.now()
    recording.sending.watch(trace.reply, (ending) => this.#end(trace, ending))
    if (setting !== 'always' || (!debug && this.#profiles?.isKeptOnSuccess(trace) === false)) return
    // The pages are no load of the application.
    if (!isProfilePath(pathnameOf(request), base)) recording.work = new WorkLog(recording.timing.startedAt)
    this.startRecording(trace)
    if (request.headers.upgrade !== undefined) watchWebSockets(trace)
    if (this.#profiles === null) return
    this.#open.add(trace)
    // A replay is sent while the request for its page is handled.
    if (isInjected && !isReplay) this.#recordParent(trace)
    // A server that does not listen by Fastify runs no hook for it.
    if (!isInjected) this.#profiler?.warmUp()
  }

  /** Whether the newest request that began has this message. */
  hasBegun (raw: FastifyRequest['raw']): boolean {
    return this.#newest === raw
  }

  /** Captures the log of a request; false where it is not recorded. The caller enters the asynchronous context. */
  openLog (trace: RequestTrace): boolean {
    return this.#logs.open(trace)
  }

  /** Whether the logger is one of pino, which publishes its lines. */
  get hasPinoLogger (): boolean {
    return this.#logs.hasPinoLogger
  }

  /** Begins to record events, headers and log lines of a request: at its beginning, or when it has failed. */
  startRecording (trace: RequestTrace): void {
    const { request, recording, services: { lifecycle, originOf } } = trace
    if (recording.isRecording) return
    recording.timing.startedTime = Math.round(Date.now() - recording.age)
    // The connection may be closed when the profile is built.
    originOf(request)
    recording.events = new EventRecorder(lifecycle?.slots ?? [], recording.timing.startedAt, trace.mask.header)
    for (const { begin } of this.#services.parts) begin?.(trace)
    setCurrentCode(trace, 'route')
  }

  /** Begins what delays the first hook of a request; undefined: nothing does. */
  arrive (trace: RequestTrace): undefined | Promise<unknown> {
    const begun = this.#services.parts.flatMap(({ arrive }) => arrive?.(trace) ?? [])
    return begun.length === 0 ? undefined : Promise.all(begun)
  }

  /** Records the route of a request. */
  collectRoute (trace: RequestTrace): void {
    for (const part of this.#missingParts(trace)) part.route?.(trace)
  }

  /** Records a request that was read. */
  collectIncoming (trace: RequestTrace): void {
    for (const part of this.#missingParts(trace)) part.receive?.(trace)
  }

  /** The parts that have recorded nothing of a request. */
  #missingParts ({ recording }: RequestTrace): Part[] {
    return this.#services.parts.filter((part) => recording.get(part) === undefined)
  }

  /** Records a request that was read, and its route. */
  collectRequest (trace: RequestTrace): void {
    if (!trace.recording.isRecording) return
    // Getters of the application may throw.
    attemptCall(() => {
      this.collectRoute(trace)
      this.collectIncoming(trace)
    }, (error) => this.#services.warn('A request was not recorded', error))
  }

  /** Records the error of a request; an earlier one becomes one of its other errors. */
  fail (trace: RequestTrace, error: unknown): void {
    const { reply, recording } = trace
    const { failure: earlier, sending } = recording
    if (earlier !== null && earlier.error === error) return
    recording.failures = [...recording.failures ?? [], error]
    // The connection is closed: nothing is sent for this error.
    if ('error' in sending.state) return this.addError(trace, error)
    // Another response was sent: this error is not what it is about.
    if (reply.sent || reply.raw.headersSent) {
      for (const one of sending.refuse(trace.request, error)) this.addError(trace, one)
      return
    }
    const isOfNotFound = recording.events?.currentCode === 'not-found handler'
    const after = recording.timing.handlerEnd === 0 ? null : 'handler'
    const [refused] = this.#services.parts.flatMap(({ fail }) => fail?.(trace, error) ?? [])
    recording.failure = { error, after, isOfNotFound, refused, unread: inspection.hasRested(recording.rests) }
    if (this.#services.debug) recording.failure.calls = callsBefore(reply.send, MAX_CALLS)
    if (earlier !== null) {
      recording.raisedBy = null
      // What cannot be sent may be refused again for the response about that.
      const isSame = earlier.refused !== undefined && codeOf(error) === codeOf(earlier.error)
      if (isSame) recording.failure.after = earlier.after
      else if (sending.failedHook === undefined && isSameError(error, earlier.error)) {
        // What always fails is one failure.
        const { after } = earlier
        Object.assign(recording.failure, { after, ...'first' in earlier && { first: earlier.first }, isRepeated: true })
      } else {
        recording.failure.after = 'failure'
        recording.failure.first = 'first' in earlier ? earlier.first : earlier.error
        // A hook that always fails is one failure.
        const isAgain = sending.failedHook?.first === recording.failure.first
        if (!isAgain || messageOf(error) !== messageOf(earlier.error)) recording.addError(earlier.error)
      }
    }
    recording.exceptions = undefined
    endHandler(recording)
    if (!recording.isRecording) recording.isPartial = true
    this.startRecording(trace)
    recording.events?.setCurrentCode(reply, 'error handler')
  }

  /** Flattens and masks the error of a failed request, for its page and its profile. */
  collectExceptions (trace: RequestTrace): void {
    trace.recording.measureInternal(() => exceptionsOf(trace))
  }

  /** Adds an error that was raised beside the one that the response is about, at any time. */
  addError (trace: RequestTrace, error: unknown): void {
    const { recording } = trace
    // It is written again as a whole: a process that ends writes what is queued.
    if (recording.addError(error) && recording.sending.isOver) this.#profiles?.queue(trace)
  }

  /** Prepares the profile of a response that is about to be sent; null where the request is not profiled. */
  respond (trace: RequestTrace, payload: unknown): ProfileAddress | null {
    return doInternalWork(() => this.#respond(trace, payload))
  }

  #respond (trace: RequestTrace, payload: unknown): ProfileAddress | null {
    const { request, reply, recording } = trace
    recording.routeError ??= routeErrorOf(trace)
    const unserialized = unserializedError(recording, payload)
    if (unserialized !== null) this.fail(trace, unserialized)
    recording.sending.pass(payload)
    const profiles = this.#profiles
    if (profiles === null || !profiles.hasProfile(trace)) return null
    const isLate = !recording.isRecording
    this.startRecording(trace)
    this.collectRequest(trace)
    if (isLate) this.collectResponse(trace, payload)
    profiles.rememberRedirect(trace)
    const profile = profiles.profileOf(trace)
    recording.events?.setCurrentCode(reply, 'Hindsight')
    if (profile !== null && this.#services.isDebugClient(request)) reply.header('x-debug-token', profile.token)
    return profile
  }

  /** Sets `X-Debug-Token-Link`, and returns it; null: the request has no profile that its client may see. */
  link (trace: RequestTrace): string | null {
    return this.#profiles?.link(trace) ?? null
  }

  /** Records a response. `content` is its payload without the toolbar. */
  collectResponse (trace: RequestTrace, payload: unknown, content = payload): void {
    doInternalWork(() => {
      for (const { respond } of this.#services.parts) respond?.(trace, payload, content)
    })
  }

  /** Records that a response is ready to be sent: only hooks of its route come after this. */
  ready (trace: RequestTrace): void {
    const { timing, work } = trace.recording
    timing.responseReadyAt = performance.now()
    work?.sample()
    setCurrentCode(trace, 'route')
  }

  // A reply may be sent or hijacked before the handler, and no hook has seen the response of a hijacked reply.
  readonly #complete = (trace: RequestTrace): void => {
    this.startRecording(trace)
    this.collectRequest(trace)
    if (trace.recording.timing.endedAt === 0) return
    for (const part of this.#missingParts(trace)) part.respond?.(trace, undefined)
  }

  #end (trace: RequestTrace, ending: Ending): void {
    const { request, recording } = trace
    const error = 'error' in ending ? ending.error : undefined
    this.#open.delete(trace)
    const { parts } = this.#services
    for (const part of parts) part.end?.(trace, parts, error)
    this.#newest = undefined
    recording.timing.endedAt = performance.now()
    recording.missesThrown ||= inspection.hasRested(recording.rests)
    recording.work?.end(recording.timing.endedAt)
    const isClosed = error instanceof ClientGoneError || error instanceof NoResponseError
    if (this.#services.lifecycle !== null && recording.isRecording && isClosed) {
      request.log.info({ channel: 'request' }, error.message)
    }
    if (this.#profiles === null) releaseRequest(trace)
    else this.#profiles.queue(trace)
  }

  // A request that is injected while another is handled is made in the asynchronous context of that one.
  #recordParent ({ request, recording }: RequestTrace): void {
    const { request: parent, trace } = requestContext.getStore() ?? {}
    if (trace instanceof JobTrace && !trace.hasResult) recording.parent = trace.recording.token
    if (parent === undefined || parent.request.raw === request.raw || !parent.hasBegun) return
    // Work that a request has started may continue in its context when the request is over.
    if (parent.reply.raw.writableEnded || parent.services.app !== this.#services.app) return
    recording.parent = this.tokenOf(parent) ?? undefined
  }

  /** The address of the request's profile; null: it is not profiled. */
  profileOf (trace: RequestTrace): ProfileAddress | null {
    return this.#profiles?.profileOf(trace) ?? null
  }

  /** The token that the profile of the request will have; null where it has none in any case. */
  tokenOf (trace: RequestTrace): string | null {
    return this.#profiles?.tokenOf(trace) ?? null
  }

  #oldRequests (): ReturnType<typeof oldRequests> {
    return oldRequests(this.#open, (trace) => this.tokenOf(trace))
  }

  /** The requests that have not ended after a second, the oldest first, and then such jobs. */
  waiting (): WaitingRequest[] {
    const requests = this.#oldRequests().map((one) => waitingRequest(one, this.#services.parts))
    return [...requests, ...this.jobs?.waiting() ?? []]
  }

  /** Their tokens: what they wait for may take long to find. */
  waitingTokens (): string[] {
    return [...this.#oldRequests(), ...this.jobs?.waiting() ?? []].map(({ token }) => token)
  }

  /** The profile until now of a request that has not ended. */
  unfinished (token: string): Profile | undefined {
    const trace = [...this.#open].find(({ recording }) => recording.token === token)
    if (trace === undefined) return this.jobs?.unfinished(token)
    // The rest of the request is recorded when its body was read.
    this.collectRoute(trace)
    const { parts } = this.#services
    const pending = parts.flatMap(({ name, pending }) =>
      pending === undefined ? [] : [[name, pending(trace, parts).data as unknown]])
    return this.#profiles?.unfinished(trace, Object.fromEntries(pending) as Record<string, unknown>)
  }
}

/** Whether two errors have the same message, and were made at the same place. */
function isSameError (one: unknown, other: unknown): boolean {
  const placeOf = (error: unknown): string | undefined =>
    isError(error) ? /\n\s*at .*/.exec(textOfStack(error as object))?.[0] : undefined
  return messageOf(one) === messageOf(other) && placeOf(one) !== undefined && placeOf(one) === placeOf(other)
}

function recordReplay (recording: Recording): boolean {
  const replay = replayContext.getStore()
  if (replay?.replayOf === undefined) return false
  // Empty: a request that a developer wrote.
  if (replay.replayOf !== '') recording.replayOf = replay.replayOf
  // The route of the replay waits for its profile.
  recording.forceProfile = true
  // Requests that the handler injects are not replays.
  replay.replayOf = undefined
  return true
}
