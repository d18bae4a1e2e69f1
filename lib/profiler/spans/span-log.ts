import type { Mask } from '../../mask/mask.js'

const MAX_SPANS = 200
const MAX_NAME = 200
const MAX_ATTRIBUTES = 32
const MAX_EVENTS = 8
const MAX_TEXT = 1_000
/** Characters of all attributes of one request: those of the spans behind are left out. */
const MAX_ROOM = 48 * 1024
const KINDS = ['internal', 'server', 'client', 'producer', 'consumer']
const ERROR = 2

/** Seconds, and the nanoseconds of the last of them. */
type HrTime = readonly [seconds: number, nanoseconds: number]

/** What is read of a span of OpenTelemetry's SDK (1.x to 3.x): its shape, so that nothing of it is imported. */
export interface SpanLike {
  name: string
  kind?: number
  spanContext (): { traceId: string, spanId: string }
  parentSpanContext?: { spanId: string } | undefined
  /** As SDK 1.x calls it. */
  parentSpanId?: string | undefined
  startTime?: HrTime
  duration?: HrTime
  ended?: boolean
  status?: { code: number, message?: string }
  attributes?: object
  events?: ReadonlyArray<{ name: string, attributes?: object | undefined }>
  instrumentationScope?: { name: string }
  instrumentationLibrary?: { name: string }
}

/** One span as a profile has it. */
export interface RecordedSpan {
  traceId: string
  spanId: string
  parentId?: string
  name: string
  kind: string
  /** What made it: the name of the tracer. */
  scope: string
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds; null for what had not ended when the profile was made. */
  duration: number | null
  /** What failed, empty where it says no more than that. */
  error?: string
  attributes: Record<string, unknown>
  events?: Array<{ name: string, attributes: Record<string, unknown> }>
}

/** The spans that were started while a request was handled. */
export class SpanLog {
  readonly #spans: Array<{ span: SpanLike, startedAt: number }> = []
  #count = 0

  /** Takes a span in that starts now; those above two hundred are only counted. */
  add (span: SpanLike): void {
    this.#count++
    if (this.#spans.length < MAX_SPANS) this.#spans.push({ span, startedAt: startOf(span) })
  }

  /** As plain data, masked, in the order in which they began. */
  record (mask: Mask, since: number): { count: number, spans: RecordedSpan[] } {
    const room = { left: MAX_ROOM }
    return { count: this.#count, spans: this.#spans.map(({ span, startedAt }) => recorded(span, startedAt - since, mask, room)).filter((span) => span !== null) }
  }
}

// On the clock that the listeners are measured with; one that was told to have started earlier (by more than the coarseness of its clock) has.
function startOf ({ startTime }: SpanLike): number {
  const now = performance.now()
  if (startTime === undefined) return now
  const late = Date.now() - milliseconds(startTime)
  return Math.abs(late) > 2 ? now - late : now
}

// Whatever an SDK of another version, or one of the application's own, makes of a span costs only that span.
function recorded (span: SpanLike, start: number, mask: Mask, room: { left: number }): RecordedSpan | null {
  try {
    const { traceId, spanId } = span.spanContext()
    const parentId = span.parentSpanContext?.spanId ?? span.parentSpanId
    const { name, kind = 0, status, ended, duration, events = [] } = span
    const shown = events.slice(0, MAX_EVENTS).map((event) => ({ name: short(event.name, mask), attributes: attributesOf(event.attributes, mask, room) }))
    return {
      traceId: String(traceId).slice(0, 32),
      spanId: String(spanId).slice(0, 16),
      ...(parentId !== undefined && { parentId: String(parentId).slice(0, 16) }),
      name: short(name, mask),
      kind: KINDS[kind] ?? 'internal',
      scope: short(span.instrumentationScope?.name ?? span.instrumentationLibrary?.name ?? '', mask),
      start: round(start),
      duration: ended === true && duration !== undefined ? round(milliseconds(duration)) : null,
      ...(status?.code === ERROR && { error: mask.text(String(status.message ?? '').slice(0, MAX_TEXT)) }),
      attributes: attributesOf(span.attributes, mask, room),
      ...(shown.length > 0 && { events: shown })
    }
  } catch {
    return null
  }
}

function attributesOf (attributes: object | undefined, mask: Mask, room: { left: number }): Record<string, unknown> {
  const entries = Object.entries(attributes ?? {})
  const kept: Array<[string, unknown]> = []
  for (const [name, value] of entries.slice(0, MAX_ATTRIBUTES)) {
    const bounded = Array.isArray(value) ? value.slice(0, MAX_ATTRIBUTES).map(cutText) : cutText(value)
    const size = name.length + JSON.stringify(bounded ?? null).length
    if (room.left < size) break
    room.left -= size
    kept.push([name.slice(0, MAX_NAME), bounded])
  }
  const left = entries.length - kept.length
  return { ...mask.value(Object.fromEntries(kept)) as Record<string, unknown>, ...(left > 0 && { '…': `${left} more` }) }
}

function cutText (value: unknown): unknown {
  return typeof value === 'string' && value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}… (${(value.length - MAX_TEXT).toLocaleString('en')} more characters)` : value
}

function short (text: unknown, mask: Mask): string {
  return mask.text(String(text).slice(0, MAX_NAME))
}

function milliseconds ([seconds, nanoseconds]: HrTime): number {
  return seconds * 1000 + nanoseconds / 1e6
}

function round (ms: number): number {
  return Math.round(ms * 1000) / 1000
}
