import type { FastifyReply, FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { maskOf } from '../errors/masked-exceptions.js'
import { bufferBody } from '../errors/rejected-input.js'
import { EventRecorder } from '../lifecycle/event-recorder.js'
import { contextOf, replayContext, requestContext, stateOf, type RequestState } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { performanceRecord } from '../parts/performance/index.js'
import { endHandler, setCurrentCode } from './handler-time.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The token of the request that caused this one, where that is known. */
    parent?: string
    /** The token of the profile whose request this one repeats. */
    replayOf?: string
    /** Whether the request is profiled even if the options exclude it: a replay, or a request with a CPU profile. */
    forceProfile?: boolean
  }
}

/** Initializes the state of a request, before its first listener, and begins to observe it if it is selected. */
export function beginRequest (request: FastifyRequest, reply: FastifyReply): void {
  const state = stateOf(request)
  state.scope = request.server
  const { debug, observed, fromBeginning, isDebugClient, profiles } = servicesOf(request)
  // `isDebugClient` keeps its result in the state. It is called now, as it reads the request that injected this one
  // from the asynchronous context, which will be that of this request.
  if (debug && isInjection(request.raw)) isDebugClient(request)
  if (!observed) return
  if (debug) bufferBody(request)
  if (isInjection(request.raw)) recordReplay(state)
  state.reply = reply
  state.startedAt = performance.now()
  if (profiles === undefined) reply.raw.once('close', () => release(request))
  if (!fromBeginning || (!debug && profiles?.isProfiledOnSuccess(request) === false)) {
    // It may fail without an error: a reply that the application has taken over.
    profiles?.queueAtEnd(request, reply)
    return
  }
  observe(request, reply)
  recordParent(request)
}

/** Begins to record events, headers and log lines of a request: at its beginning, or when it has failed. */
export function observe (request: FastifyRequest, reply: FastifyReply): void {
  const { observed, lifecycle: { slots }, profiles } = servicesOf(request)
  const state = stateOf(request)
  if (!observed || state.observed) return
  state.observed = true
  state.reply = reply
  state.startedTime = Math.round(Date.now() - (performance.now() - state.startedAt))
  state.log ??= state.capturedLog
  state.recorder = new EventRecorder(slots, state.startedAt, maskOf(request).header)
  state.collect('performance', () => performanceRecord(state))
  setCurrentCode(request, reply, 'route')
  profiles?.queueAtEnd(request, reply)
}

/** Ends the log of a request that is over, and releases the memory of the request. */
export function release (request: FastifyRequest): void {
  stateOf(request).capturedLog?.finish()
  contextOf(request).release()
}

// A request that is injected while another is handled is made in the asynchronous context of that one.
function recordParent (request: FastifyRequest): void {
  const parent = requestContext.getStore()?.request
  if (parent === undefined || parent.raw === request.raw || !isInjection(request.raw)) return
  const { profiles } = servicesOf(request)
  // Work that a request has started may continue in its context when the request is over.
  const isOver = stateOf(parent).reply?.raw.writableEnded !== false
  if (profiles === undefined || isOver || servicesOf(parent).profiles !== profiles) return
  const state = stateOf(request)
  state.parent = profiles.tokenOf(parent) ?? ''
}

function recordReplay (state: RequestState): void {
  const replay = replayContext.getStore()
  if (replay?.replayOf === undefined) return
  state.replayOf = replay.replayOf
  // The route of the replay waits for its profile.
  state.forceProfile = true
  // Requests that the handler injects are not replays.
  replay.replayOf = undefined
}

/** Records the error of a request; an earlier one becomes one of its other errors. */
export function recordFailure (request: FastifyRequest, reply: FastifyReply, raised: unknown): void {
  const state = stateOf(request)
  if (state.failed && state.raised === raised) return
  if (state.failed) state.otherErrors.push(state.raised)
  state.failed = true
  state.raised = raised
  state.exceptions = undefined
  endHandler(request)
  observe(request, reply)
  state.recorder?.setCurrentCode(reply, 'error handler')
}
