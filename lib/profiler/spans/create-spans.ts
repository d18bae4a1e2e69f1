import { isIP } from 'node:net'
import {
  ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags,
  type Attributes, type Context, type HrTime, type Span, type SpanContext
} from '@opentelemetry/api'
import { requestContext } from '../../lifecycle/request-state.js'
import type { LogRecord } from '../../logs/log-record.js'
import { cut } from '../../view/visible.js'
import { ownVersion } from '../configuration.js'
import type { RecordedCall } from '../outgoing/outgoing-log.js'
import { dataOf, isObject, listOf } from '../panels/panel.js'
import { handlerSpans } from '../panels/waterfall.js'
import type { Profile } from '../profile.js'

interface Child {
  name: string
  kind?: SpanKind
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds; null: it had not ended. */
  duration: number | null
  attributes: Record<string, unknown>
  failed?: boolean
}

/** The name of the tracer. */
export const SCOPE = 'fastify-hindsight'

// RFC 9110, section 9, and RFC 5789. Other methods are `_OTHER`, as an attribute with unbounded values is expensive.
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'])
const MAX_TEXT = 4_000
/** The default limit of events in SDKs. */
const MAX_EVENTS = 128
const MAX_EXCEPTIONS = 20

/**
 * Creates the spans of a profile: one for the request, and below it one for each listener that ran, the handler, and
 * each outgoing call. Without an SDK that the application has registered this does nothing.
 */
export function createSpans (profile: Profile): void {
  const { method, route, status, time, duration } = profile
  const epoch = Date.parse(time)
  const tracer = trace.getTracer(SCOPE, ownVersion())
  // The span processor of Hindsight must not attribute these spans to the request.
  requestContext.run(undefined, () => {
    const name = `${method}${route === null ? '' : ` ${route.pattern}`}`
    const options = { kind: SpanKind.SERVER, startTime: at(epoch), attributes: serverAttributes(profile) }
    const root = tracer.startSpan(nameOf(name), options, parentOf(profile))
    if (!root.isRecording()) return
    addEvents(root, profile)
    // A client error is not an error of the server's span.
    if (status >= 500) root.setStatus({ code: SpanStatusCode.ERROR })
    const context = trace.setSpan(ROOT_CONTEXT, root)
    for (const child of [...listenerSpans(profile), ...handlerPart(profile), ...callSpans(profile)]) {
      const { name, kind = SpanKind.INTERNAL, start, failed = false } = child
      const attributes = attributesOf(child.attributes)
      const span = tracer.startSpan(nameOf(name), { kind, startTime: at(epoch + start), attributes }, context)
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(at(epoch + start + (child.duration ?? Math.max(0, duration - start))))
    }
    root.end(at(epoch + duration))
  })
}

// The trace of the request's `traceparent`, or that of the application's instrumentation.
function parentOf (profile: Profile): Context {
  const incoming = dataOf(profile, 'trace')
  if (typeof incoming.traceId === 'string') {
    const traceFlags = incoming.sampled === true ? TraceFlags.SAMPLED : TraceFlags.NONE
    return remote({ traceId: incoming.traceId, spanId: String(incoming.parentId), traceFlags })
  }
  const spans = listOf(dataOf(profile, 'spans').spans)
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const outermost = spans.find(({ parentId }) => !ids.has(parentId))
  if (outermost === undefined) return ROOT_CONTEXT
  const { traceId, spanId, parentId = spanId } = outermost
  return remote({ traceId: String(traceId), spanId: String(parentId), traceFlags: TraceFlags.SAMPLED })
}

function remote (context: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, { ...context, isRemote: true })
}

// HTTP semantic conventions, server spans (stable since 1.23).
function serverAttributes (profile: Profile): Attributes {
  const { token, method, url, status, ip, route, exceptions, parent } = profile
  const { headers, httpVersion } = dataOf(profile, 'request')
  const { 'user-agent': agent, 'content-length': length } = isObject(headers) ? headers : {}
  return attributesOf({
    ...methodOf(method),
    ...urlParts(url, ['url.scheme', 'url.path', 'url.query', 'server.address', 'server.port']),
    'http.route': route?.pattern,
    'http.response.status_code': status,
    'http.request.body.size': /^\d+$/.test(String(length)) ? Number(length) : undefined,
    'http.response.body.size': dataOf(profile, 'response').size,
    'client.address': isIP(ip) === 0 ? undefined : ip,
    'network.protocol.version': httpVersion,
    'user_agent.original': agent,
    'error.type': status >= 500 ? exceptions.at(-1)?.name ?? String(status) : undefined,
    'hindsight.token': token,
    'hindsight.parent': parent
  })
}

function methodOf (method: string): Record<string, unknown> {
  if (METHODS.has(method)) return { 'http.request.method': method }
  return { 'http.request.method': '_OTHER', 'http.request.method_original': method }
}

function urlParts (url: string, wanted: readonly string[]): Record<string, unknown> {
  if (!URL.canParse(url)) return {}
  const { protocol, pathname, search, hostname, port } = new URL(url)
  const scheme = protocol.slice(0, -1)
  const defaultPort = scheme === 'https' ? 443 : 80
  const parts: Record<string, unknown> = {
    'url.scheme': scheme,
    'url.path': pathname,
    'url.query': search === '' ? undefined : search.slice(1),
    'server.address': hostname,
    'server.port': port === '' ? defaultPort : Number(port)
  }
  return Object.fromEntries(wanted.map((name) => [name, parts[name]]))
}

function listenerSpans ({ events }: Profile): Child[] {
  return events.filter(({ outcome }) => outcome !== 'skipped').map((event) => {
    const { stage, listener, pass, outcome, start, duration, changes } = event
    return {
      name: `${stage} ${listener}`,
      start,
      duration,
      failed: outcome === 'raised',
      attributes: {
        'hindsight.stage': stage,
        'hindsight.listener': listener,
        'hindsight.pass': pass,
        'hindsight.outcome': outcome,
        'hindsight.changed.headers': changes?.headers?.map(({ name }) => name),
        'hindsight.changed.status': changes?.status?.to
      }
    }
  })
}

function handlerPart (profile: Profile): Child[] {
  const [, file, line] = /^(.+):(\d+)$/.exec(profile.route?.handler ?? '') ?? []
  const place = { 'code.file.path': file, 'code.line.number': line === undefined ? undefined : Number(line) }
  return handlerSpans(profile).map(({ kind, name, start, duration }) => {
    return { name, start, duration, attributes: { ...(kind === 'handler' && place), 'hindsight.part': kind } }
  })
}

// HTTP semantic conventions, client spans.
function callSpans (profile: Profile): Child[] {
  const calls = listOf(dataOf(profile, 'http-client').calls) as unknown as RecordedCall[]
  return calls.map(({ method, url, status, start, duration, error }) => {
    const isError = status !== null && status >= 400
    const attributes = {
      ...methodOf(method),
      'url.full': url,
      ...urlParts(url, ['server.address', 'server.port']),
      'http.response.status_code': status,
      'error.type': error !== undefined ? '_OTHER' : isError ? String(status) : undefined,
      'error.message': error
    }
    return { name: method, kind: SpanKind.CLIENT, start, duration, attributes, failed: error !== undefined || isError }
  })
}

/** Adds the exceptions and the newest lines of the log as events. */
function addEvents (root: Span, profile: Profile): void {
  const epoch = Date.parse(profile.time)
  const raised = profile.events.find(({ outcome }) => outcome === 'raised')
  const raisedAt = raised === undefined ? profile.duration : raised.start + raised.duration
  const exceptions = profile.exceptions.slice(-MAX_EXCEPTIONS)
  for (const { name, message, stack } of exceptions) {
    root.addEvent('exception', attributesOf({
      'exception.type': name, 'exception.message': message, 'exception.stacktrace': stack
    }), at(epoch + raisedAt))
  }
  // The listeners are spans.
  const isNotification = ({ channel, level }: LogRecord): boolean => channel === 'event' && level === 'debug'
  const lines = profile.logs.filter((line) => !isNotification(line))
  for (const { time, level, channel, message, context } of lines.slice(exceptions.length - MAX_EVENTS)) {
    root.addEvent('log', attributesOf({
      'log.severity': level,
      'log.channel': channel,
      'log.message': message,
      'log.context': Object.keys(context).length === 0 ? undefined : JSON.stringify(context)
    }), at(Math.max(epoch, Date.parse(time))))
  }
}

// A lone surrogate is no character of UTF-8: exporters would fail.
function nameOf (text: string): string {
  return cut(text, 500).toWellFormed()
}

function attributesOf (values: Readonly<Record<string, unknown>>): Attributes {
  const text = (value: unknown): unknown => typeof value === 'string' ? cut(value, MAX_TEXT).toWellFormed() : value
  return Object.fromEntries(Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, Array.isArray(value) ? value.map(text) : text(value)])) as Attributes
}

/** Milliseconds since the epoch as seconds and nanoseconds. */
function at (milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1000)
  return [seconds, Math.floor((milliseconds - seconds * 1000) * 1e6)]
}
