import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { attemptCall, callsBefore } from '../call.js'
import { performance } from '../clock.js'
import { maskOf } from '../errors/masked-exceptions.js'
import { bufferBody } from '../errors/rejected-input.js'
import { ClientGoneError, NoResponseError } from '../http/http-errors.js'
import { isProfilePath, pathnameOf } from '../http/requests.js'
import { EventRecorder } from '../lifecycle/event-recorder.js'
import { WorkLog } from '../lifecycle/work-log.js'
import { readProperty } from '../errors/thrown-value.js'
import { recordingOf, replayContext, requestContext, servicesOf } from '../lifecycle/state.js'
import type { ProfilerSettings } from '../options.js'
import type { Part } from '../parts/part.js'
import { routeErrorOf } from '../routing/no-match.js'
import type { Profile } from '../store/profile.js'
import { endHandler, setCurrentCode } from './handler-time.js'
import { openLogs } from './process-events.js'
import { openProfiles, releaseRequest, type ProfileAddress } from './profiles.js'
import type { Recording } from './recording.js'
import type { Ending } from './sending.js'
import { unserializedError } from './unserialized-error.js'
import { oldRequests, waitingRequest, type WaitingRequest } from './waiting.js'

declare module '../lifecycle/state.js' {
  interface Services {
    /** Records requests; absent where none is recorded. */
    readonly recorder?: Recorder
  }
}

/** The calls that led to one of `send`, at most: instrumentation may have wrapped it. */
const MAX_CALLS = 5

/**
 * Records the requests of an application, from their beginning to their profiles. Hooks of Hindsight, or of a
 * lifecycle, call these functions.
 */
export type Recorder = ReturnType<typeof createRecorder>

/** `settings`: null where no request is profiled; then failures are recorded for their diagnostic pages only. */
export function createRecorder (app: FastifyInstance, settings: ProfilerSettings | null, options: object) {
  const { base, closing, debug, lifecycle, parts, recording: setting, warn } = app.hindsight
  /** The recorded requests whose responses have not ended, in the order of their arrival. */
  const open = new Set<FastifyRequest>()
  const profiles = settings === null ? null : openProfiles(app, settings, options, complete, open)
  const logs = openLogs(app)
  // Otherwise no request has an asynchronous context of its own.
  if (setting === 'always') closing.push(...parts.flatMap((part) => part.start?.(app) ?? []))
  /** The message of the request that began last; undefined after a request has ended. */
  let newest: FastifyRequest['raw'] | undefined

  /** Begins a request, before its first listener or hook. */
  function begin (request: FastifyRequest, reply: FastifyReply): void {
    const recording = recordingOf(request)
    const isInjected = isInjection(request.raw)
    // Its result is kept. It is called now, as it reads the request that injected this one from the asynchronous
    // context, which will be that of this request.
    if (debug && isInjected) app.hindsight.isDebugClient(request)
    if (debug && request.headers['content-type'] !== undefined) bufferBody(request)
    const isReplay = isInjected && recordReplay(recording)
    newest = request.raw
    recording.reply = reply
    recording.timing.startedAt = performance.now()
    recording.sending.watch(reply, (ending) => end(request, reply, ending))
    if (setting !== 'always' || (!debug && profiles?.isKeptOnSuccess(request) === false)) return
    // The pages are no load of the application.
    if (!isProfilePath(pathnameOf(request), base)) recording.work = new WorkLog(recording.timing.startedAt)
    startRecording(request, reply)
    if (profiles !== null) open.add(request)
    // A replay is sent while the request for its page is handled.
    if (isInjected && !isReplay) recordParent(request, recording)
    // A server that does not listen by Fastify runs no hook for it.
    if (!isInjected && profiles !== null) app.hindsight.profiler.warmUp()
  }

  /** Begins to record events, headers and log lines of a request: at its beginning, or when it has failed. */
  function startRecording (request: FastifyRequest, reply: FastifyReply): void {
    const recording = recordingOf(request)
    if (recording.isRecording) return
    recording.reply = reply
    recording.timing.startedTime = Math.round(Date.now() - recording.age)
    // The connection may be closed when the profile is built.
    app.hindsight.originOf(request)
    recording.events = new EventRecorder(lifecycle?.slots ?? [], recording.timing.startedAt, maskOf(request).header)
    for (const { begin } of parts) begin?.(request, reply)
    setCurrentCode(request, reply, 'route')
  }

  /** Records the error of a request; an earlier one becomes one of its other errors. */
  function fail (request: FastifyRequest, reply: FastifyReply, error: unknown): void {
    const recording = recordingOf(request)
    const { failure: earlier } = recording
    if (earlier !== null && earlier.error === error) return
    // The connection is closed: nothing is sent for this error.
    const { sending } = recording
    if ('error' in sending.state) return addError(request, error)
    // Another response was sent: this error is not what it is about.
    if (reply.sent || reply.raw.headersSent) {
      for (const one of sending.refuse(request, error)) addError(request, one)
      return
    }
    const isOfNotFound = recording.events?.currentCode === 'not-found handler'
    const after = recording.timing.handlerEnd === 0 ? null : 'handler'
    const [refused] = parts.flatMap(({ fail }) => fail?.(request, reply, error) ?? [])
    recording.failure = { error, after, isOfNotFound, refused }
    if (debug) recording.failure.calls = callsBefore(reply.send, MAX_CALLS)
    if (earlier !== null) {
      recording.raisedBy = null
      // What cannot be sent may be refused again for the response about that.
      const code = readProperty(error, 'code')
      const isSame = earlier.refused !== undefined && code === readProperty(earlier.error, 'code')
      if (isSame) recording.failure.after = earlier.after
      else {
        recording.failure.after = 'failure'
        recording.failure.first = 'first' in earlier ? earlier.first : earlier.error
        recording.addError(earlier.error)
      }
    }
    recording.exceptions = undefined
    endHandler(request)
    if (!recording.isRecording) recording.isPartial = true
    startRecording(request, reply)
    recording.events?.setCurrentCode(reply, 'error handler')
  }

  /** Begins what delays the first hook of a request; undefined: nothing does. */
  function arrive (request: FastifyRequest, reply: FastifyReply): undefined | Promise<unknown> {
    const begun = parts.flatMap(({ arrive }) => arrive?.(request, reply) ?? [])
    return begun.length === 0 ? undefined : Promise.all(begun)
  }

  /** Records the route of a request. */
  function collectRoute (request: FastifyRequest): void {
    for (const part of missingParts(request)) part.route?.(request)
  }

  /** Records a request that was read. */
  function collectIncoming (request: FastifyRequest): void {
    for (const part of missingParts(request)) part.receive?.(request)
  }

  /** Records a request that was read, and its route. */
  function collectRequest (request: FastifyRequest): void {
    if (!recordingOf(request).isRecording) return
    // Getters of the application may throw.
    attemptCall(() => {
      collectRoute(request)
      collectIncoming(request)
    }, (error) => warn('A request was not recorded', error))
  }

  function collectResponse (request: FastifyRequest, reply: FastifyReply, payload: unknown, content = payload): void {
    for (const { respond } of parts) respond?.(request, reply, payload, content)
  }

  /** The parts that have recorded nothing of a request. */
  function missingParts (request: FastifyRequest): Part[] {
    return parts.filter((part) => recordingOf(request).get(part) === undefined)
  }

  /** Prepares the profile of a response that is about to be sent; null where the request is not profiled. */
  function respond (request: FastifyRequest, reply: FastifyReply, payload: unknown): ProfileAddress | null {
    const recording = recordingOf(request)
    recording.routeError ??= routeErrorOf(request, reply)
    const unserialized = unserializedError(recording, payload)
    if (unserialized !== null) fail(request, reply, unserialized)
    recording.sending.pass(payload)
    if (profiles === null || !profiles.hasProfile(request, reply)) return null
    const isLate = !recording.isRecording
    startRecording(request, reply)
    collectRequest(request)
    if (isLate) collectResponse(request, reply, payload)
    profiles.rememberRedirect(request, reply)
    const profile = profiles.profileOf(request)
    recording.events?.setCurrentCode(reply, 'Hindsight')
    if (profile !== null && app.hindsight.isDebugClient(request)) reply.header('x-debug-token', profile.token)
    return profile
  }

  /** Records that a response is ready to be sent: only hooks of its route come after this. */
  function ready (request: FastifyRequest, reply: FastifyReply): void {
    const { timing, work } = recordingOf(request)
    timing.responseReadyAt = performance.now()
    work?.sample()
    setCurrentCode(request, reply, 'route')
  }

  // A reply may be sent or hijacked before the handler, and no hook has seen the response of a hijacked reply.
  function complete (request: FastifyRequest, reply: FastifyReply): void {
    startRecording(request, reply)
    collectRequest(request)
    if (recordingOf(request).timing.endedAt === 0) return
    for (const part of missingParts(request)) part.respond?.(request, reply, undefined)
  }

  function end (request: FastifyRequest, reply: FastifyReply, ending: Ending): void {
    const recording = recordingOf(request)
    open.delete(request)
    for (const part of parts) part.end?.(request, reply, ending)
    newest = undefined
    recording.timing.endedAt = performance.now()
    recording.work?.end()
    const error = 'error' in ending ? ending.error : undefined
    const isClosed = error instanceof ClientGoneError || error instanceof NoResponseError
    if (lifecycle !== null && recording.isRecording && isClosed) request.log.info({ channel: 'request' }, error.message)
    if (profiles === null) releaseRequest(request)
    else profiles.queue(request, reply)
  }

  /** Adds an error that was raised beside the one that the response is about, at any time. */
  function addError (request: FastifyRequest, error: unknown): void {
    const recording = recordingOf(request)
    const { reply, sending } = recording
    // It is written again as a whole: a process that ends writes what is queued.
    if (recording.addError(error) && sending.isOver && reply !== null) profiles?.queue(request, reply)
  }

  // A request that is injected while another is handled is made in the asynchronous context of that one.
  function recordParent (request: FastifyRequest, recording: Recording): void {
    const parent = requestContext.getStore()?.request
    if (parent === undefined || parent.raw === request.raw) return
    // Work that a request has started may continue in its context when the request is over.
    const isOver = recordingOf(parent).reply?.raw.writableEnded !== false
    if (!isOver && servicesOf(parent) === app.hindsight) recording.parent = profiles?.tokenOf(parent) ?? undefined
  }

  const old = (): ReturnType<typeof oldRequests> => oldRequests(open, profiles?.tokenOf ?? (() => null))

  return {
    begin,
    /** Whether the newest request that began has this message. */
    hasBegun: (raw: FastifyRequest['raw']): boolean => newest === raw,
    /** Captures the log of a request; false where it is not recorded. The caller enters the asynchronous context. */
    openLog: logs.open,
    /** Whether the logger is one of pino, which publishes its lines. */
    hasPinoLogger: logs.hasPinoLogger,
    startRecording,
    arrive,
    collectRoute,
    collectIncoming,
    collectRequest,
    collectResponse,
    fail,
    respond,
    ready,
    addError,
    link: (request: FastifyRequest, reply: FastifyReply): string | null => profiles?.link(request, reply) ?? null,
    /** The address of the request's profile; null: it is not profiled. */
    profileOf: (request: FastifyRequest): ProfileAddress | null => profiles?.profileOf(request) ?? null,
    /** The token that the profile of the request will have; null where it has none in any case. */
    tokenOf: (request: FastifyRequest): string | null => profiles?.tokenOf(request) ?? null,
    /** The requests that have not ended after a second, the oldest first. */
    waiting: (): WaitingRequest[] => old().map((one) => waitingRequest(one, parts)),
    /** Their tokens: what they wait for may take long to find. */
    waitingTokens: (): string[] => old().map(({ token }) => token),
    /** The profile until now of a request that has not ended. */
    unfinished (token: string): Profile | undefined {
      const request = [...open].find((one) => recordingOf(one).token === token)
      if (request === undefined) return undefined
      const { reply } = recordingOf(request)
      if (reply === null) return undefined
      // The rest of the request is recorded when its body was read.
      collectRoute(request)
      const pending = parts.flatMap(({ name, pending }) =>
        pending === undefined ? [] : [[name, pending(request, reply).data as unknown]])
      return profiles?.unfinished(request, reply, Object.fromEntries(pending) as Record<string, unknown>)
    }
  }
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
