import { requestContext, stateOf } from '../../lifecycle/request-state.js'
import { servicesOf } from '../../lifecycle/services.js'
import type { Mask } from '../../mask/mask.js'
import { cut } from '../../view/visible.js'

declare module '../../lifecycle/request-state.js' {
  interface RequestState {
    /** The spans that were started while the request was handled. */
    spans?: SpanLog
  }
}

const MAX_SPANS = 200
const MAX_NAME = 200
const MAX_ATTRIBUTES = 32
const MAX_EVENTS = 8
const MAX_TEXT = 1_000
/** Characters of the attributes of all spans of one request; further attributes are left out. */
const MAX_CHARACTERS = 48 * 1024
const KINDS = ['internal', 'server', 'client', 'producer', 'consumer']
const ERROR = 2

/** Seconds, and nanoseconds of the last of them. */
type HrTime = readonly [seconds: number, nanoseconds: number]

/** The properties of a span of OpenTelemetry's SDK (1.x to 3.x) that are read. */
export interface SpanLike {
  name: string
  kind?: number
  spanContext (): { traceId: string, spanId: string }
  parentSpanContext?: { spanId: string } | undefined
  /** In SDK 1.x. */
  parentSpanId?: string | undefined
  startTime?: HrTime
  duration?: HrTime
  ended?: boolean
  status?: { code: number, message?: string }
  attributes?: object
  events?: ReadonlyArray<{ name: string, attributes?: object | undefined }>
  instrumentationScope?: { name: string }
  /** In SDK 1.x. */
  instrumentationLibrary?: { name: string }
}

/** A span as a profile has it. */
export interface RecordedSpan {
  traceId: string
  spanId: string
  parentId?: string
  name: string
  kind: string
  /** The name of the tracer. */
  scope: string
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds; null: it had not ended when the profile was built. */
  duration: number | null
  /** The message of the status, of a span that failed. */
  error?: string
  attributes: Record<string, unknown>
  events?: Array<{ name: string, attributes: Record<string, unknown> }>
}

/** The interface `SpanProcessor` of OpenTelemetry's SDK. */
export interface HindsightSpanProcessor {
  onStart (span: SpanLike): void
  onEnd (span: SpanLike): void
  forceFlush (): Promise<void>
  shutdown (): Promise<void>
}

/**
 * Makes a span processor that adds the spans of the application to the profile of the request in whose asynchronous
 * context they started: `new NodeTracerProvider({ spanProcessors: [hindsightSpanProcessor(), …] })`.
 * It keeps a reference to a span until the profile is built, and does nothing where no request is observed.
 */
export function hindsightSpanProcessor (): HindsightSpanProcessor {
  let closed = false
  return {
    onStart (span) {
      const { request } = requestContext.getStore() ?? {}
      if (closed || request === undefined) return
      const state = stateOf(request)
      if (!state.observed) return
      if (state.spans === undefined) {
        const { mask } = servicesOf(request)
        const log = state.spans = new SpanLog()
        state.collect('spans', () => log.record(mask, state.startedAt))
      }
      state.spans.add(span)
    },
    // The end of a span is read from the span when the profile is built.
    onEnd () {},
    async forceFlush () {},
    async shutdown () { closed = true }
  }
}

/** The spans of one request. */
export class SpanLog {
  readonly #spans: Array<{ span: SpanLike, startedAt: number }> = []
  #count = 0

  /** Adds a span that starts now; above the limit it is only counted. */
  add (span: SpanLike): void {
    this.#count++
    if (this.#spans.length < MAX_SPANS) this.#spans.push({ span, startedAt: startOf(span) })
  }

  /** The spans as plain data, masked, in the order of their start. */
  record (mask: Mask, since: number): { count: number, spans: RecordedSpan[] } {
    let charactersLeft = MAX_CHARACTERS
    const attributesOf = (attributes: object = {}): Record<string, unknown> => {
      const entries = Object.entries(attributes)
      const bounded = entries.slice(0, MAX_ATTRIBUTES).map(([name, value]: [string, unknown]) =>
        [name.slice(0, MAX_NAME), Array.isArray(value) ? value.slice(0, MAX_ATTRIBUTES).map(cutText) : cutText(value)])
      const kept = bounded.filter((entry) => (charactersLeft -= JSON.stringify(entry).length) >= 0)
      const shown = mask.value(Object.fromEntries(kept)) as Record<string, unknown>
      const leftOut = entries.length - kept.length
      return leftOut === 0 ? shown : { ...shown, '…': `${leftOut} more` }
    }
    const spans = this.#spans.flatMap(({ span, startedAt }) =>
      recorded(span, startedAt - since, mask, attributesOf) ?? [])
    return { count: this.#count, spans }
  }
}

// On the clock of `performance.now()`. Clocks differ by up to 2 ms; a larger difference is an explicit start time.
function startOf ({ startTime }: SpanLike): number {
  const now = performance.now()
  const late = startTime === undefined ? 0 : Date.now() - milliseconds(startTime)
  return Math.abs(late) > 2 ? now - late : now
}

/** Null: the span has another form, such as that of an unknown version of the SDK. */
function recorded (
  span: SpanLike, start: number, mask: Mask, attributesOf: (attributes?: object) => Record<string, unknown>
): RecordedSpan | null {
  const nameOf = (text: unknown): string => mask.text(String(text).slice(0, MAX_NAME))
  try {
    const { traceId, spanId } = span.spanContext()
    const parentId = span.parentSpanContext?.spanId ?? span.parentSpanId
    const { kind = 0, status, ended, duration } = span
    const events = (span.events ?? []).slice(0, MAX_EVENTS)
      .map(({ name, attributes }) => ({ name: nameOf(name), attributes: attributesOf(attributes) }))
    return {
      traceId: String(traceId).slice(0, 32),
      spanId: String(spanId).slice(0, 16),
      ...(parentId !== undefined && { parentId: String(parentId).slice(0, 16) }),
      name: nameOf(span.name),
      kind: KINDS[kind] ?? 'internal',
      scope: nameOf(span.instrumentationScope?.name ?? span.instrumentationLibrary?.name ?? ''),
      start: round(start),
      duration: ended === true && duration !== undefined ? round(milliseconds(duration)) : null,
      ...(status?.code === ERROR && { error: mask.text(String(status.message ?? '').slice(0, MAX_TEXT)) }),
      attributes: attributesOf(span.attributes),
      ...(events.length > 0 && { events })
    }
  } catch {
    return null
  }
}

function cutText (value: unknown): unknown {
  return typeof value === 'string' ? cut(value, MAX_TEXT) : value
}

function milliseconds ([seconds, nanoseconds]: HrTime): number {
  return seconds * 1000 + nanoseconds / 1e6
}

function round (ms: number): number {
  return Math.round(ms * 1000) / 1000
}
