import { isIP } from 'node:net'
import type { Attributes, Context, Span, SpanOptions } from '@opentelemetry/api'
import { requestContext } from '../../lifecycle/state.js'
import { ownVersion } from '../../parts/config/index.js'
import { dataOf, isObject, timelineOf, type Span as Entry } from '../../parts/read.js'
import { serverOf } from '../../parts/http-client/index.js'
import { parts as ownParts } from '../../parts/index.js'
import type { Part } from '../../parts/part.js'
import { outermostSpan } from '../../parts/spans/index.js'
import type { Profile } from '../../store/profile.js'
import { require } from '../../require.js'
import { cut } from '../../view/text.js'

const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } =
  require('@opentelemetry/api') as typeof import('@opentelemetry/api')

export const SCOPE = 'fastify-hindsight'

const MAX_TEXT = 4_000
const MAX_NAME = 500
const MAX_EXCEPTIONS = 20

type Child = Pick<Entry, 'name' | 'start' | 'duration' | 'failed'> & Required<Pick<SpanOptions, 'kind' | 'attributes'>>

/**
 * Creates the spans of a profile: one for the request, and below it one for each listener that ran, the handler, and
 * each outgoing call. Without an SDK that the application has registered this does nothing.
 */
export function createSpans (profile: Profile, parts: readonly Part[] = ownParts): void {
  const { method, route, status } = profile
  const { hindsight } = dataOf(profile, 'performance')
  // The span has the page, too.
  const whole = profile.duration + Number(hindsight ?? 0)
  const at = (milliseconds: number): number => Date.parse(profile.time) + milliseconds
  const tracer = trace.getTracer(SCOPE, ownVersion())
  // The span processor of Hindsight must not attribute these spans to the request.
  requestContext.run(undefined, () => {
    const options = { kind: SpanKind.SERVER, startTime: at(0), attributes: serverAttributes(profile) }
    const name = textOf(`${method} ${route?.pattern ?? ''}`.trim(), MAX_NAME)
    const root = tracer.startSpan(name, options, parentOf(profile))
    if (!root.isRecording()) return
    addExceptions(root, profile, at)
    // A client error is not an error of the server's span.
    if (status >= 500) root.setStatus({ code: SpanStatusCode.ERROR })
    const context = trace.setSpan(ROOT_CONTEXT, root)
    for (const { name, kind, attributes, start, duration, failed } of childrenOf(profile, parts)) {
      const span = tracer.startSpan(textOf(name, MAX_NAME), { kind, attributes, startTime: at(start) }, context)
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(at(start + (duration ?? Math.max(0, whole - start))))
    }
    root.end(at(whole))
  })
}

// The trace of the request's `traceparent`, or that of the application's instrumentation.
function parentOf (profile: Profile): Context {
  const { traceId, parentId, sampled } = dataOf(profile, 'trace')
  if (typeof traceId === 'string') return remote(traceId, parentId, sampled === true)
  const outermost = outermostSpan(profile)
  if (outermost === undefined) return ROOT_CONTEXT
  return remote(outermost.traceId, outermost.parentId ?? outermost.spanId, true)
}

function remote (traceId: unknown, spanId: unknown, sampled: boolean): Context {
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: String(traceId), spanId: String(spanId), traceFlags, isRemote: true
  })
}

// HTTP semantic conventions, server spans (stable since 1.23).
function serverAttributes (profile: Profile): Attributes {
  const { token, method, url, status, ip, route, exceptions } = profile
  const { headers, httpVersion } = dataOf(profile, 'request')
  const { protocol, pathname, search } = URL.canParse(url) ? new URL(url) : {}
  return attributesOf({
    ...serverOf(method, url),
    'url.scheme': protocol?.slice(0, -1),
    'url.path': pathname,
    'url.query': search?.slice(1) || undefined,
    'http.route': route?.pattern,
    'http.response.status_code': status,
    'client.address': isIP(ip) === 0 ? undefined : ip,
    'network.protocol.version': httpVersion,
    'user_agent.original': isObject(headers) ? headers['user-agent'] : undefined,
    'error.type': status >= 500 ? exceptions.at(-1)?.name ?? String(status) : undefined,
    'hindsight.token': token
  })
}

/** The steps of the request, then the work within them that has a span of its own. */
function childrenOf (profile: Profile, parts: readonly Part[]): Child[] {
  const timeline = timelineOf(parts, profile)
  const steps = timeline.filter(({ step }) => step !== undefined).map((entry): Child => ({
    ...entry,
    name: `${entry.stage ?? ''} ${entry.name}`.trim(),
    kind: SpanKind.INTERNAL,
    attributes: attributesOf({ 'hindsight.part': entry.step, 'hindsight.detail': entry.detail })
  }))
  const work = timeline.flatMap(({ clientSpan, ...entry }): Child[] => clientSpan === undefined
    ? []
    : [{ ...entry, name: clientSpan.name, kind: SpanKind.CLIENT, attributes: attributesOf(clientSpan.attributes) }])
  return [...steps, ...work]
}

function addExceptions (root: Span, profile: Profile, at: (milliseconds: number) => number): void {
  const raised = profile.events.find(({ outcome }) => outcome === 'raised')
  const raisedAt = at(raised === undefined ? profile.duration : raised.start + raised.duration)
  for (const { name, message, stack } of profile.exceptions.slice(-MAX_EXCEPTIONS)) {
    root.recordException({ name: textOf(name), message: textOf(message), stack: textOf(stack) }, raisedAt)
  }
}

// Exporters fail for a lone surrogate, which UTF-8 cannot encode.
function textOf (text: string, max = MAX_TEXT): string {
  return cut(text, max).toWellFormed()
}

function attributesOf (values: Readonly<Record<string, unknown>>): Attributes {
  const valueOf = (value: unknown): unknown => typeof value === 'string' ? textOf(value) : value
  return Object.fromEntries(Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, valueOf(value)])) as Attributes
}
