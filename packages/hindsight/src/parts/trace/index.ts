import type { RequestTrace } from '../../recording/trace.js'
import { fieldsPart } from '../read.js'

// Trace Context, section 3.2: version, trace, parent, flags; what later versions add follows a hyphen.
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0+-)([0-9a-f]{32})-(?!0+-)([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The place of the request in a distributed trace (W3C Trace Context). */
export const trace = fieldsPart('trace', 'Trace', 'calls', 'Trace', {
  from: 'request', receive: recordTrace, comparison: []
})

function recordTrace ({ request, recording }: RequestTrace): void {
  const found = traceOf(request.headers.traceparent)
  if (found !== null) recording.collect(trace, found)
}

/** Reads the trace that a request is part of (W3C Trace Context); null where there is none, or an invalid one. */
export function traceOf (traceparent: unknown): { traceId: string, parentId: string, sampled: boolean } | null {
  if (typeof traceparent !== 'string') return null
  const [, version, traceId, parentId = '', flags = '', rest] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || (version === '00' && rest !== undefined)) return null
  return { traceId, parentId, sampled: (parseInt(flags, 16) & 1) === 1 }
}
