import { performance } from 'node:perf_hooks'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { EventRecorder } from './event-recorder.js'
import { setOutside } from './handler-time.js'
import type { Slot } from './lifecycle.js'
import { requestContext } from './request-context.js'
import { stateOf } from './request-state.js'
import { servicesOf } from './services-of.js'
import { UsageMeter } from './usage.js'

/** Begins a request, before its first listener: where it is observed its events are recorded from here on. */
export function beginRequest (request: FastifyRequest, reply: FastifyReply): void {
  stateOf(request).scope = request.server
  const { debug, observed, follow, fromBeginning, isObserved, maySeeDebug } = servicesOf(request)
  // Which request injected this one is known only until it has a context of its own.
  if (debug && isInjection(request.raw)) maySeeDebug(request)
  if (!observed) return
  const state = stateOf(request)
  state.reply = reply
  state.startedAt = performance.now()
  if (!fromBeginning || !isObserved(request)) {
    // It may fail without an error: a reply that the application has taken over.
    follow?.(request, reply)
    return
  }
  observe(request, reply)
  noteParent(request)
  state.usage = new UsageMeter(state.startedAt)
}

/** Begins to record what happens to a request: at its beginning, or when it has failed and its profile is kept for that. */
export function observe (request: FastifyRequest, reply: FastifyReply): void {
  const { observed, lifecycle: { slots }, mask, logOf, follow } = servicesOf(request)
  const state = stateOf(request)
  if (!observed || state.observed) return
  state.observed = true
  state.reply = reply
  state.startedTime = Math.round(Date.now() - (performance.now() - state.startedAt))
  state.log ??= logOf?.(request) ?? null
  state.recorder = new EventRecorder(slots, state.startedAt, mask.header)
  setOutside(request, reply, 'route')
  follow?.(request, reply)
}

// A request that is injected while another is handled is made in the asynchronous context of that one.
function noteParent (request: FastifyRequest): void {
  const context = requestContext.getStore()
  if (context === undefined || context.request.raw === request.raw || !isInjection(request.raw)) return
  const { request: parent, reply } = context
  const { tokenOf } = servicesOf(request)
  // The context of a request that is over may go on in whatever it has started.
  if (reply.raw.writableEnded || servicesOf(parent).tokenOf !== tokenOf) return
  const state = stateOf(request)
  state.parent = tokenOf?.(parent) ?? ''
  const { replays } = stateOf(parent)
  if (replays === '') return
  state.replayOf = replays
  // A replay is profiled whatever the options say: its sender waits for the profile.
  state.demanded = true
}

/** Notes what a request failed with; an earlier error is kept beside it. */
export function noteFailure (request: FastifyRequest, reply: FastifyReply, raised: unknown): void {
  const state = stateOf(request)
  if (state.failed && state.raised === raised) return
  if (state.failed) state.others.push(state.raised)
  state.failed = true
  state.raised = raised
  state.exceptions = null
  if (state.isHandling) state.handlerEnd = performance.now()
  observe(request, reply)
  state.recorder?.setOutside(reply, 'error handler')
}

/**
 * Runs the stages of an error pass that come before the response: `kernel.controller` and `kernel.controller_arguments`.
 * Returns nothing where nothing had to be awaited.
 */
export function runErrorPass (request: FastifyRequest, reply: FastifyReply): undefined | Promise<unknown> {
  stateOf(request).pass = 'error'
  const slots = servicesOf(request).lifecycle.slots.filter(({ stage }) => stage.startsWith('kernel.controller'))
  const running = runSlots(slots, request, reply, undefined)
  return running instanceof Promise ? running : undefined
}

/** Runs listeners outside of their hooks, one after the other, each with the payload that the one before returned; stays synchronous where they do. */
export function runSlots (slots: readonly Slot[], request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  for (const [i, { run }] of slots.entries()) {
    const result = run?.(request, reply, payload)
    if (result instanceof Promise) return result.then((later: unknown) => runSlots(slots.slice(i + 1), request, reply, payloadAfter(later, payload)))
    payload = payloadAfter(result, payload)
  }
  return payload
}

function payloadAfter (result: unknown, payload: unknown): unknown {
  return typeof result === 'string' || Buffer.isBuffer(result) ? result : payload
}
