import type { ListenerEvent } from '../../lifecycle/events.js'
import type { RequestState } from '../../lifecycle/request-state.js'
import type { ProcessUsage } from '../process-usage.js'

/** Where the time of a request went, in milliseconds since it arrived or as durations. */
export interface PerformanceRecord {
  total: number
  handlerStart?: number
  handler?: number
  /** From the handler's result to the first listener of the response: serialising it, and hooks ahead of that. */
  serialization?: number
  /** When the response was ready to be sent. */
  firstByte?: number
  process?: ProcessUsage
}

/** Puts together what was measured on the way. */
export function performanceRecord (state: RequestState, events: readonly ListenerEvent[], endedAt: number): PerformanceRecord {
  const { startedAt, handlerStart, handlerEnd, serializeStart, headAt } = state
  const responded = serializeStart === 0 ? undefined : firstOfResponse(events, round(serializeStart - startedAt))
  return {
    total: round(endedAt - startedAt),
    ...(handlerEnd !== 0 && { handlerStart: round(handlerStart - startedAt), handler: round(handlerEnd - handlerStart) }),
    ...(responded !== undefined && { serialization: round(responded - round(serializeStart - startedAt)) }),
    ...(headAt !== 0 && { firstByte: round(headAt - startedAt) }),
    ...(state.usage !== undefined && { process: state.usage.stop() })
  }
}

/** When the first listener of the response began that had something to do. */
function firstOfResponse (events: readonly ListenerEvent[], since: number): number | undefined {
  return events.find(({ stage, outcome, start }) => stage === 'kernel.response' && outcome !== 'skipped' && start >= since)?.start
}

function round (ms: number): number {
  return Math.round(ms * 1000) / 1000
}
