import type { Profile } from '../profile.js'
import { addressOf, dataOf, entryAddress, isFailedCall, listOf, type Data } from './panel.js'

/** One bar of the waterfall. */
export interface Span {
  kind: 'listener' | 'hook' | 'handler' | 'serialization' | 'call' | 'span'
  name: string
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds; null: not ended. */
  duration: number | null
  failed: boolean
  /** The text of the tooltip. */
  detail: string
  /** The URL of the part of a panel that shows more. */
  link: string
  /** The stage of a listener or hook, with the pass. */
  stage?: string
  /** The ids of a span of OpenTelemetry. */
  id?: unknown
  parentId?: unknown
}

/** All that took time, by start. */
export function spansOf (profile: Profile): Span[] {
  return [...listenerSpans(profile), ...handlerSpans(profile), ...callSpans(profile), ...telemetrySpans(profile)]
    .filter(({ start }) => Number.isFinite(start))
    .sort((a, b) => a.start - b.start || Number(b.duration) - Number(a.duration))
}

function listenerSpans ({ events }: Profile): Span[] {
  return events.flatMap(({ stage, listener, pass, outcome, plugin, source, start, duration }, i): Span[] => {
    if (outcome === 'skipped') return []
    const title = `${stage}${pass === 'error' ? ', error pass' : ''}`
    const added = source === undefined ? '' : `; added ${plugin === undefined ? '' : `by ${plugin} `}at ${source}`
    return [{
      kind: stage.startsWith('kernel.') ? 'listener' : 'hook',
      name: listener,
      start,
      duration,
      failed: outcome === 'raised',
      detail: `${title}: ${outcome}${added}`,
      link: addressOf('events', [], `event-${i + 1}`),
      stage: title
    }]
  })
}

/** The handler, and the serialization of its result. */
function handlerSpans (profile: Profile): Span[] {
  const { handlerStart, handler, serialization } = dataOf(profile, 'performance')
  if (typeof handlerStart !== 'number' || typeof handler !== 'number') return []
  const name = profile.route?.name ?? 'unnamed'
  const response = profile.events.find(({ stage, outcome, start }) =>
    stage === 'kernel.response' && outcome !== 'skipped' && start >= handlerStart + handler)
  const shared = { failed: false, link: addressOf('router') }
  const handlerSpan: Span = {
    ...shared,
    kind: 'handler',
    name: `handler ${name}`,
    start: handlerStart,
    duration: handler,
    detail: `the handler of the route ${name}`
  }
  if (typeof serialization !== 'number' || response === undefined) return [handlerSpan]
  return [handlerSpan, {
    ...shared,
    kind: 'serialization',
    name: 'serialization',
    start: response.start - serialization,
    duration: serialization,
    detail: 'from the result of the handler to the first listener of the response'
  }]
}

function callSpans (profile: Profile): Span[] {
  const own = URL.canParse(profile.url) ? new URL(profile.url).host : ''
  return listOf(dataOf(profile, 'http-client').calls).map((call, i) => {
    const { method, status, error } = call
    const url = String(call.url)
    const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '', pathname: url }
    const result = error ?? (typeof status === 'number' ? `answered with ${status}` : 'no response yet')
    return {
      kind: 'call',
      name: `${String(method)} ${host === own ? '' : host}${pathname}`,
      ...timesOf(call),
      failed: isFailedCall(call),
      detail: `${url}: ${String(result)}`,
      link: entryAddress('http-client', 'call', i)
    }
  })
}

function telemetrySpans (profile: Profile): Span[] {
  return listOf(dataOf(profile, 'spans').spans).map((span, i) => {
    const { name, kind, scope, error, spanId, parentId } = span
    const scopeText = scope === '' || scope === undefined ? '' : ` of ${String(scope)}`
    return {
      kind: 'span',
      name: String(name),
      ...timesOf(span),
      failed: error !== undefined,
      detail: `${String(kind)} span${scopeText}${error === undefined ? '' : `, failed: ${String(error)}`}`,
      link: entryAddress('spans', 'span', i),
      id: spanId,
      parentId
    }
  })
}

function timesOf ({ start, duration }: Data): Pick<Span, 'start' | 'duration'> {
  return { start: Number(start), duration: typeof duration === 'number' ? duration : null }
}
