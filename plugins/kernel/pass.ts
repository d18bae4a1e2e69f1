// The global one is a getter, which each call would ask.
import { performance } from 'node:perf_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { EventRecorder } from './event-recorder.js'
import { HeaderTrail } from './header-trail.js'
import { watchHeaders } from './header-watch.js'
import { joinHooks, requestHook } from './joined-hooks.js'
import type { Slot } from './lifecycle.js'
import { adoptMessages, kMalformed, rememberReply } from './malformed.js'
import { watchHead } from './raw-headers.js'
import { requestContext } from './request-context.js'
import { ownHook } from './own-hooks.js'
import { stateOf, type RequestState } from './request-state.js'
import { Raise } from './verdict.js'
import { UsageMeter } from './usage.js'

/**
 * Opens a request, ahead of the first listener: where it is observed its events are recorded from here on.
 * What the HTTP parser refused has no main pass and raises here.
 */
export function openPass (app: FastifyInstance): void {
  const { observed, fromBeginning } = app.lifecycle
  const services = app.hindsight
  adoptMessages(app)
  if (fromBeginning) app.lifecycle.watched = watchHeaders(app)
  function opened (request: FastifyRequest, reply: FastifyReply): Raise | undefined {
    rememberReply(request.raw, reply.raw)
    // Who injects a request is known only as long as it has no context of its own.
    if (services.debug && isInjection(request.raw)) services.maySeeDebug(request)
    if (observed) {
      const state = stateOf(request)
      state.startedAt = performance.now()
      if (fromBeginning && services.isObserved(request)) {
        observe(request, reply)
        noteParent(app, request, state)
        state.usage = new UsageMeter(state.startedAt)
      }
    }
    const malformed = request.raw[kMalformed]
    if (malformed === undefined) return
    services.openDiagnostics?.(request, reply)
    stateOf(request).pass = 'error'
    return new Raise(malformed)
  }
  // Once for each route: from its second request on there is nothing left of this but what it is joined with.
  const open = requestHook([opened])
  app.addHook('onRequest', ownHook(function openFirst (request, reply, done) {
    joinHooks(request)
    open(request, reply, done)
  }, null, () => opened))
}

/** Begins to record what happens to a request: at its beginning, or when it has failed and its profile is kept for that. */
export function observe (request: FastifyRequest, reply: FastifyReply): void {
  const { lifecycle: { observed, watched, slots }, hindsight: { debug, mask, logOf, follow } } = request.server
  const state = stateOf(request)
  if (!observed || state.observed) return
  state.observed = true
  state.reply = reply
  state.startedTime = Math.round(Date.now() - (performance.now() - state.startedAt))
  state.log ??= logOf?.(request) ?? null
  state.recorder = new EventRecorder(slots, state.startedAt, mask.header, watched, debug && watched ? new HeaderTrail() : null)
  watchHead(reply, state)
  follow?.(request, reply)
}

// A request that is injected while another is handled is made in the asynchronous context of that one.
function noteParent (app: FastifyInstance, request: FastifyRequest, state: RequestState): void {
  const context = requestContext.getStore()
  if (context === undefined || context.request.raw === request.raw || !isInjection(request.raw)) return
  const { request: parent, reply } = context
  // The context of a request that is over may go on in whatever it has started.
  if (reply.raw.writableEnded || parent.server.hindsight.tokenOf !== app.hindsight.tokenOf) return
  state.parent = app.hindsight.tokenOf?.(parent) ?? ''
  const { replays } = stateOf(parent)
  if (replays === '') return
  state.replayOf = replays
  // Whatever else is profiled: somebody waits for this one.
  state.demanded = true
}

/**
 * Walks the stages of an error pass that lie before the response: `kernel.controller` and
 * `kernel.controller_arguments`. What a listener raises here is kept beside the first error.
 * Nothing is returned where nothing had to be waited for.
 */
export function runErrorPass (app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): undefined | Promise<void> {
  return walkFrom(0, errorSlotsOf(app), request, reply)
}

/** The same for who cannot wait, which is a handler of the application that must answer at once. */
export function walkErrorPass (app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): void {
  for (const slot of errorSlotsOf(app)) step(slot, request, reply)?.catch(() => {})
}

function walkFrom (first: number, slots: readonly Slot[], request: FastifyRequest, reply: FastifyReply): undefined | Promise<void> {
  for (let i = first; i < slots.length; i++) {
    const walking = step(slots[i] as Slot, request, reply)
    if (walking !== undefined) return walking.then(() => walkFrom(i + 1, slots, request, reply))
  }
}

function step ({ run }: Slot, request: FastifyRequest, reply: FastifyReply): undefined | Promise<void> {
  try {
    const result = run?.(request, reply, undefined)
    if (result instanceof Promise) return result.then(() => {}, (raised: unknown) => noteRaised(request, raised))
  } catch (raised) {
    noteRaised(request, raised)
  }
}

function noteRaised (request: FastifyRequest, raised: unknown): void {
  stateOf(request).others.push(raised)
  request.log.error({ err: raised, channel: 'event' }, 'A listener raised in the error pass')
}

// All listeners are registered when a request can fail.
function errorSlotsOf ({ lifecycle }: FastifyInstance): readonly Slot[] {
  return (lifecycle.errorSlots ??= lifecycle.slots.filter(({ stage, run }) => run !== null && stage.startsWith('kernel.controller')))
}
