import { randomBytes } from 'node:crypto'

// Trace Context, section 3.2: version, trace, parent, flags; what later versions add follows a hyphen.
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const VERSION = '00'
const INVALID_VERSION = 'ff'
const NOTHING = /^0+$/
/** Sampled, and random: the flags that are known (section 3.2.2.5). */
const KNOWN_FLAGS = 0b11
const MAX_STATE = 512

/** A trace that a request is part of (W3C Trace Context). */
export class TraceContext {
  readonly traceId: string
  /** The span of the sender of the request. */
  readonly parentId: string
  readonly flags: number
  /** The header `tracestate`, or empty. */
  readonly state: string
  /** The span of the request itself. */
  readonly spanId: string

  constructor (traceId: string, parentId: string, flags: number, state: string) {
    this.traceId = traceId
    this.parentId = parentId
    this.flags = flags
    this.state = state
    let spanId = ''
    while (NOTHING.test(spanId) || spanId === '') spanId = randomBytes(8).toString('hex')
    this.spanId = spanId
  }

  get sampled (): boolean {
    return (this.flags & 1) === 1
  }

  /** The headers by which a request to another server continues the trace. */
  headers (): Record<string, string> {
    const flags = this.flags.toString(16).padStart(2, '0')
    return {
      traceparent: `${VERSION}-${this.traceId}-${this.spanId}-${flags}`,
      ...(this.state !== '' && { tracestate: this.state })
    }
  }
}

/** Reads the trace of a request; null where there is none, or an invalid one, which is ignored. */
export function traceOf (traceparent: unknown, tracestate?: unknown): TraceContext | null {
  if (typeof traceparent !== 'string') return null
  const match = TRACEPARENT.exec(traceparent)
  if (match === null) return null
  const [, version = '', traceId = '', parentId = '', flags = '', rest] = match
  if (version === INVALID_VERSION || (version === VERSION && rest !== undefined)) return null
  if (NOTHING.test(traceId) || NOTHING.test(parentId)) return null
  return new TraceContext(traceId, parentId, parseInt(flags, 16) & KNOWN_FLAGS, validState(tracestate))
}

// Passed on unchanged, unless it is too long or invalid (section 3.3.1.5).
function validState (tracestate: unknown): string {
  if (typeof tracestate !== 'string' || tracestate.length > MAX_STATE) return ''
  return /^[\x20-\x7e]*$/.test(tracestate) ? tracestate.trim() : ''
}
