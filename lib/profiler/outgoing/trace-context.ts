import { randomBytes } from 'node:crypto'

// Trace Context, section 3.2: version, trace, parent, flags; what later versions add stands behind a hyphen.
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
  /** The span of who sent the request. */
  readonly parentId: string
  readonly flags: number
  /** What vendors pass on, or empty. */
  readonly state: string
  #spanId = ''

  constructor (traceId: string, parentId: string, flags: number, state: string) {
    this.traceId = traceId
    this.parentId = parentId
    this.flags = flags
    this.state = state
  }

  /** The request's own span, drawn when it is first asked for. */
  get spanId (): string {
    while (this.#spanId === '' || NOTHING.test(this.#spanId)) this.#spanId = randomBytes(8).toString('hex')
    return this.#spanId
  }

  get sampled (): boolean {
    return (this.flags & 1) === 1
  }

  /** The headers by which a request to somebody else continues the trace. */
  headers (): Record<string, string> {
    const flags = this.flags.toString(16).padStart(2, '0')
    return {
      traceparent: `${VERSION}-${this.traceId}-${this.spanId}-${flags}`,
      ...(this.state !== '' && { tracestate: this.state })
    }
  }
}

/** Reads the trace that a request brings; null where it brings none, or one that is invalid and thus ignored. */
export function traceOf (traceparent: unknown, tracestate?: unknown): TraceContext | null {
  if (typeof traceparent !== 'string') return null
  const match = TRACEPARENT.exec(traceparent)
  if (match === null) return null
  const [, version = '', traceId = '', parentId = '', flags = '', rest] = match
  if (version === INVALID_VERSION || (version === VERSION && rest !== undefined)) return null
  if (NOTHING.test(traceId) || NOTHING.test(parentId)) return null
  return new TraceContext(traceId, parentId, parseInt(flags, 16) & KNOWN_FLAGS, stateOf(tracestate))
}

// Passed on as it came, unless it cannot be (section 3.3.1.5).
function stateOf (tracestate: unknown): string {
  return typeof tracestate === 'string' && tracestate.length <= MAX_STATE && /^[\x20-\x7e]*$/.test(tracestate) ? tracestate.trim() : ''
}
