import { performance, roundTime } from '../../clock.js'
import type { HookRun } from '../../recording/event-recorder.js'
import { currentContext } from '../../recording/trace.js'
import type { Mask } from '../../mask/mask.js'
import type { SpanOwner } from '../../recording/recording.js'
import { definePart } from '../part.js'
import type { Data } from '../read.js'

const MAX_SPANS = 200
const MAX_NAME = 200
const MAX_ATTRIBUTES = 32
const MAX_TEXT = 500
const KINDS = ['internal', 'server', 'client', 'producer', 'consumer']
const ERROR = 2

/** Seconds, and nanoseconds of the last of them. */
type HrTime = readonly [seconds: number, nanoseconds: number]

/** The properties of a span of OpenTelemetry's SDK (2.x and later) that are read. */
export interface SpanLike {
  name: string
  kind?: number
  spanContext (): { traceId: string, spanId: string }
  parentSpanContext?: { spanId: string } | undefined
  startTime?: HrTime
  duration?: HrTime
  ended?: boolean
  status?: { code: number, message?: string }
  attributes?: object
  instrumentationScope?: { name: string }
}

/** The interface `SpanProcessor` of OpenTelemetry's SDK. */
export interface HindsightSpanProcessor {
  onStart (span: SpanLike): void
  onEnd (span: SpanLike): void
  forceFlush (): Promise<void>
  shutdown (): Promise<void>
}

/** The spans of the application's own instrumentation (OpenTelemetry). */
export const recordedSpans = definePart<{ log: SpanLog, mask: Mask }>({
  name: 'spans',
  data: ({ log, mask }, { spanOwner, timing, until }) => log.record(mask, timing.startedAt, spanOwner?.(), until)
})

/**
 * Makes a span processor that adds the spans of the application to the profile of the request in whose asynchronous
 * context they started: `new NodeTracerProvider({ spanProcessors: [hindsightSpanProcessor(), …] })`.
 * It keeps a reference to a span until the profile is built, and does nothing where no request is recorded.
 */
export function hindsightSpanProcessor (): HindsightSpanProcessor {
  return {
    onStart (span) {
      const { trace, hook = null } = currentContext() ?? {}
      if (trace === undefined) return
      const { recording, services: { mask } } = trace
      if (!recording.isRecording || recording.until !== Infinity) return
      const { log } = recording.get(recordedSpans) ??
        recording.set(recordedSpans, { log: new SpanLog(), mask })
      log.add(span, hook)
    },
    // The end of a span is read from the span when the profile is built.
    onEnd () {},
    async forceFlush () {},
    async shutdown () {}
  }
}

/** The spans of one request. */
export class SpanLog {
  readonly #spans: Array<{ span: SpanLike, startedAt: number, hook: HookRun | null }> = []
  #count = 0

  /** Adds a span that starts now; above the limit it is only counted. */
  add (span: SpanLike, hook: HookRun | null = null): void {
    this.#count++
    if (this.#spans.length < MAX_SPANS) this.#spans.push({ span, startedAt: startOf(span), hook })
  }

  /** The spans as plain data, masked, in the order of their start; those that end from `until` on have not ended. */
  record (
    mask: Mask, since: number, owner: SpanOwner = () => null, until = Infinity
  ): { count: number, spans: Data[] } {
    const spans = this.#spans.map(({ span, startedAt, hook }) => {
      const { attributes = {}, ended, duration } = span
      const endedAt = ended === true && duration !== undefined ? startedAt + milliseconds(duration) : Infinity
      const shownAs = owner({ attributes: attributes as Readonly<Record<string, unknown>>, startedAt, endedAt })
      const data = recorded(span, startedAt - since, mask, endedAt < until)
      if (data === null) return null
      const position = hook?.position ?? 0
      return { ...data, ...position !== 0 && { hook: position }, ...shownAs !== null && { shownAs } }
    }).filter((span) => span !== null)
    return { count: this.#count, spans }
  }
}

// On the clock of `performance.now()`. Clocks differ by up to 2 ms; a larger difference is an explicit start time.
function startOf ({ startTime }: SpanLike): number {
  const now = performance.now()
  if (startTime === undefined) return now
  const late = Date.now() - milliseconds(startTime)
  return Math.abs(late) > 2 ? now - late : now
}

/**
 * A span as a profile has it. `start`: milliseconds since the request arrived. `duration`: null if it has not ended.
 * Null for a span of another form, such as that of an unknown version of the SDK.
 */
function recorded (span: SpanLike, start: number, mask: Mask, isEnded: boolean): Data | null {
  const nameOf = (text: unknown): string => mask.cut(String(text), MAX_NAME)
  try {
    const { traceId, spanId } = span.spanContext()
    const { parentSpanContext, kind = 0, status, duration, attributes = {}, instrumentationScope } = span
    const first = Object.fromEntries(Object.entries(attributes).slice(0, MAX_ATTRIBUTES))
    return {
      traceId: String(traceId).slice(0, 32),
      spanId: String(spanId).slice(0, 16),
      ...(parentSpanContext !== undefined && { parentId: String(parentSpanContext.spanId).slice(0, 16) }),
      name: nameOf(span.name),
      kind: KINDS[kind] ?? 'internal',
      scope: nameOf(instrumentationScope?.name ?? ''),
      start: roundTime(start),
      duration: isEnded && duration !== undefined ? roundTime(milliseconds(duration)) : null,
      ...(status?.code === ERROR && { error: mask.cut(String(status.message ?? ''), MAX_TEXT) }),
      attributes: mask.value(first, MAX_TEXT)
    }
  } catch {
    return null
  }
}

function milliseconds ([seconds, nanoseconds]: HrTime): number {
  return seconds * 1000 + nanoseconds / 1e6
}
