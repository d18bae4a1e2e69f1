import { performance } from 'node:perf_hooks'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { keepReceivedBody } from '../errors/rejected-input.js'
import { EventRecorder } from '../lifecycle/event-recorder.js'
import { requestContext, stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { endHandler, setOutside } from './handler-time.js'
import type {} from './request-diagnostics.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The token of the request that caused this one, where that is known. */
    parent?: string
    /** The token of the profile whose request is sent again by this one. */
    replays?: string
    /** The token of the profile whose request this one repeats. */
    replayOf?: string
    /** Whether the request is profiled whatever the options say: a replay, a request with a CPU profile. */
    demanded?: boolean
  }
}

/** Begins a request, before its first listener: where it is observed its events are recorded from here on. */
export function beginRequest (request: FastifyRequest, reply: FastifyReply): void {
  const state = stateOf(request)
  state.scope = request.server
  const { debug, observed, fromBeginning, maySeeDebug, profiles } = servicesOf(request)
  // Which request injected this one is known only until it has a context of its own.
  if (debug && isInjection(request.raw)) maySeeDebug(request)
  if (!observed) return
  if (debug) keepReceivedBody(request)
  state.reply = reply
  state.startedAt = performance.now()
  if (!fromBeginning || (!debug && profiles?.isWanted(request) === false)) {
    // It may fail without an error: a reply that the application has taken over.
    profiles?.follow(request, reply)
    return
  }
  observe(request, reply)
  noteParent(request)
}

/**
 * Begins to record what happens to a request: at its beginning, or when it has failed and its profile is kept for that.
 */
export function observe (request: FastifyRequest, reply: FastifyReply): void {
  const { observed, lifecycle: { slots }, mask, profiles } = servicesOf(request)
  const state = stateOf(request)
  if (!observed || state.observed) return
  state.observed = true
  state.reply = reply
  state.startedTime = Math.round(Date.now() - (performance.now() - state.startedAt))
  state.log ??= state.capturedLog
  state.recorder = new EventRecorder(slots, state.startedAt, mask.header)
  setOutside(request, reply, 'route')
  profiles?.follow(request, reply)
}

// A request that is injected while another is handled is made in the asynchronous context of that one.
function noteParent (request: FastifyRequest): void {
  const context = requestContext.getStore()
  if (context === undefined || context.request.raw === request.raw || !isInjection(request.raw)) return
  const { request: parent, reply } = context
  const { profiles } = servicesOf(request)
  // Work that a request has started may continue in its context when the request is over.
  if (profiles === undefined || reply.raw.writableEnded || servicesOf(parent).profiles !== profiles) return
  const state = stateOf(request)
  state.parent = profiles.tokenOf(parent) ?? ''
  const { replays } = stateOf(parent)
  if (replays === undefined) return
  state.replayOf = replays
  // The sender of a replay waits for its profile.
  state.demanded = true
}

/** Notes what a request failed with; an earlier error is kept beside it. */
export function noteFailure (request: FastifyRequest, reply: FastifyReply, raised: unknown): void {
  const state = stateOf(request)
  if (state.failed && state.raised === raised) return
  if (state.failed) state.others.push(state.raised)
  state.failed = true
  state.raised = raised
  delete state.exceptions
  endHandler(request)
  observe(request, reply)
  state.recorder?.setOutside(reply, 'error handler')
}
