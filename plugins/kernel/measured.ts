import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EventRecorder } from './event-recorder.js'
import type { PassName } from './events.js'
import type { Slot } from './lifecycle.js'
import { isPromise } from './promise.js'
import { stateOf, type RequestState } from './request-state.js'
import { Answer, Raise, Skip } from './verdict.js'

type Verdict = void | undefined | Skip | Answer | Raise

/** A listener ahead of the handler. */
export type RequestHook = (request: FastifyRequest, reply: FastifyReply) => Verdict | Promise<Verdict>

/** A listener of a response: returns the payload where it changes it, nothing where it does not. */
export type ResponseHook = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => unknown

/** The same where hardly anybody is observed, and nobody from the beginning. */
export function measuredOnceFailed (run: ResponseHook | RequestHook, measured: ResponseHook): ResponseHook {
  return (request, reply, payload) => stateOf(request).recorder === null ? run(request, reply, payload) : measured(request, reply, payload)
}

/** Where requests are observed: the same listener, with its outcome, its time and its changes recorded. */
export function measured (slot: Slot, run: ResponseHook | RequestHook): ResponseHook {
  const isController = slot.stage.startsWith('kernel.controller')
  return function (request, reply, payload) {
    const state = stateOf(request)
    const { recorder, pass } = state
    if (recorder === null || (isController && pass === 'main' && recorder.reached(slot, pass))) {
      return run(request, reply, payload)
    }
    const startedAt = recorder.before(reply)
    let result: unknown
    try {
      result = run(request, reply, payload)
    } catch (raised) {
      recorder.record(slot, pass, 'raised', startedAt, reply, null)
      return onRaised(state, slot, raised, request, pass)
    }
    // What most of them return.
    if (result === undefined) {
      recorder.record(slot, pass, 'ran', startedAt, reply, null)
      return
    }
    if (isPromise(result)) return settled(result, slot, state, recorder, startedAt, request, reply)
    if (result instanceof Raise) {
      recorder.record(slot, pass, 'raised', startedAt, reply, null)
      return onRaised(state, slot, result.error, request, pass, true)
    }
    recordResult(recorder, slot, pass, result, startedAt, reply)
    return result
  }
}

async function settled (
  running: Promise<unknown>, slot: Slot, state: RequestState, recorder: EventRecorder, startedAt: number, request: FastifyRequest, reply: FastifyReply
): Promise<unknown> {
  const { pass } = state
  try {
    const result = await running
    if (result instanceof Raise) throw result.error
    recordResult(recorder, slot, pass, result, startedAt, reply)
    return result
  } catch (raised) {
    recorder.record(slot, pass, 'raised', startedAt, reply, null)
    return onRaised(state, slot, raised, request, pass)
  }
}

function recordResult (recorder: EventRecorder, slot: Slot, pass: PassName, result: unknown, startedAt: number, reply: FastifyReply): void {
  if (result instanceof Skip) recorder.record(slot, pass, 'skipped', startedAt, reply, result.reason)
  else recorder.record(slot, pass, result instanceof Answer ? 'answered' : 'ran', startedAt, reply, null)
}

// Listeners whose failure the process was warned of: once is enough.
const told = new WeakSet<Slot>()

// In an error pass the response is already about an error: a second one is told beside it, and the walk goes on.
function onRaised (state: RequestState, slot: Slot, raised: unknown, request: FastifyRequest, pass: string, isMeant = false): undefined {
  // Who only looks on fails nobody.
  if (request.server.hindsight.attached && !isMeant) {
    if (!told.has(slot)) process.emitWarning(`The listener "${slot.listener}" failed: ${raised instanceof Error ? raised.stack ?? raised.message : String(raised)}`, 'HindsightWarning')
    told.add(slot)
    return
  }
  if (pass === 'main') {
    state.raisedBy = { stage: slot.stage, listener: slot.listener }
    throw raised
  }
  state.others.push(raised)
  request.log.error({ err: raised, channel: 'event' }, `Listener "${slot.listener}" of "${slot.stage}" raised in the error pass`)
}
