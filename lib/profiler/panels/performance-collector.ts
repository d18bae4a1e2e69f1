import type { ListenerEvent } from '../../lifecycle/events.js'
import type { RequestState } from '../../lifecycle/request-state.js'

/** Durations, and times since the request arrived, in milliseconds. */
export interface PerformanceRecord {
  total: number
  handlerStart?: number
  handler?: number
  /** From the result of the handler to the first listener of the response, with the hooks before it. */
  serialization?: number
  /** When the response was ready to be sent. */
  firstByte?: number
}

export function performanceRecord (
  state: RequestState,
  events: readonly ListenerEvent[],
  endedAt: number
): PerformanceRecord {
  const { startedAt, handlerStart, handlerEnd, serializeStart, headAt } = state
  const since = (time: number): number => round(time - startedAt)
  const response = serializeStart === 0
    ? undefined
    : events.find(({ stage, outcome, start }) =>
      stage === 'kernel.response' && outcome !== 'skipped' && start >= since(serializeStart))
  return {
    total: since(endedAt),
    ...(handlerEnd !== 0 && { handlerStart: since(handlerStart), handler: round(handlerEnd - handlerStart) }),
    ...(response !== undefined && { serialization: round(response.start - since(serializeStart)) }),
    ...(headAt !== 0 && { firstByte: since(headAt) })
  }
}

function round (ms: number): number {
  return Math.round(ms * 1000) / 1000
}
