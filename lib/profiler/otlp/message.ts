import { cut } from '../../view/visible.js'

/** What a value may be in OTLP's JSON mapping (opentelemetry.proto.common.v1.AnyValue): 64-bit integers are text. */
export type AnyValue = { stringValue: string } | { boolValue: boolean } | { intValue: string } | { doubleValue: number } | { arrayValue: { values: AnyValue[] } }

export interface KeyValue {
  key: string
  value: AnyValue
}

export interface OtlpEvent {
  timeUnixNano: string
  name: string
  attributes: KeyValue[]
}

/** A span in OTLP's JSON mapping (opentelemetry.proto.trace.v1.Span): ids are hexadecimal there, times nanoseconds as text. */
export interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: KeyValue[]
  events: OtlpEvent[]
  droppedEventsCount?: number
  status: { code?: number, message?: string }
}

/** What is sent to `/v1/traces` (ExportTraceServiceRequest). */
export interface TraceRequest {
  resourceSpans: Array<{
    resource: { attributes: KeyValue[] }
    scopeSpans: Array<{ scope: { name: string, version?: string }, spans: OtlpSpan[] }>
  }>
}

export const KIND = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const
export const STATUS_ERROR = 2

const MAX_TEXT = 4_000
const MAX_ITEMS = 32

/** Attributes by their names; what is not there is left out. */
export function attributesOf (values: Readonly<Record<string, unknown>>): KeyValue[] {
  return Object.entries(values).filter(([, value]) => value !== undefined && value !== null).map(([key, value]) => ({ key, value: anyValue(value) }))
}

function anyValue (value: unknown): AnyValue {
  switch (typeof value) {
    case 'boolean': return { boolValue: value }
    case 'number': return Number.isSafeInteger(value) ? { intValue: String(value) } : Number.isFinite(value) ? { doubleValue: value } : { stringValue: String(value) }
    case 'string': return { stringValue: text(value) }
    case 'object': return Array.isArray(value) ? { arrayValue: { values: value.slice(0, MAX_ITEMS).map(anyValue) } } : { stringValue: text(JSON.stringify(value)) }
    default: return { stringValue: text(String(value)) }
  }
}

// A lone surrogate is no character of UTF-8, and a collector would refuse the whole request for it.
function text (value: string): string {
  return cut(value, MAX_TEXT).toWellFormed()
}

/** A text where no attribute stands: the name of a span or of an event. */
export function nameText (value: string): string {
  return cut(value, 500).toWellFormed()
}

/** Nanoseconds since the epoch: milliseconds of a clock, and those since. */
export function nanoseconds (epoch: number, offset = 0): string {
  const whole = Number.isFinite(offset) ? offset : 0
  return String(BigInt(Math.max(0, Math.round(epoch))) * 1_000_000n + BigInt(Math.max(0, Math.round(whole * 1e6))))
}
