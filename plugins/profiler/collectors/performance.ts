import type { ListenerEvent } from '../../kernel/events.js'
import type { RequestState } from '../../kernel/request-state.js'
import type { ProcessUsage } from '../../kernel/usage.js'

/** Where the time of a request went, in milliseconds since it arrived or as durations. */
export interface PerformanceRecord {
  total: number
  handlerStart?: number
  handler?: number
  /** From the handler's result to the first listener of the response: serialising it, and hooks ahead of that. */
  serialization?: number
  /** When the head of the response was written. */
  firstByte?: number
  process?: ProcessUsage
}

/** Puts together what was measured on the way. */
export function performanceRecord (state: RequestState, events: readonly ListenerEvent[], endedAt: number): PerformanceRecord {
  const { startedAt, handlerStart, handlerEnd, serializeStart, headAt } = state
  const since = (at: number): number => round(at - startedAt)
  const responded = serializeStart === 0
    ? undefined
    : events.find(({ stage, outcome, start }) => stage === 'kernel.response' && outcome !== 'skipped' && start >= since(serializeStart))
  return {
    total: since(endedAt),
    ...(handlerEnd !== 0 && { handlerStart: since(handlerStart), handler: round(handlerEnd - handlerStart) }),
    ...(responded !== undefined && { serialization: round(responded.start - since(serializeStart)) }),
    ...(headAt !== 0 && { firstByte: since(headAt) }),
    ...(state.usage !== null && { process: state.usage.stop(endedAt) })
  }
}

function round (ms: number): number {
  return Math.round(ms * 1000) / 1000
}
