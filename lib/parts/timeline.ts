import type { RequestState } from '../lifecycle/request-state.js'
import type { Profile } from '../profiler/profile.js'
import { addressOf, dataOf, isFailedCall, listOf, type Data } from './part.js'

/**
 * The collector `performance`, in milliseconds: the duration of the handler, when it began, and when the response was
 * ready to be sent, both since the request arrived.
 */
export function performanceRecord (
  { startedAt, handlerStart, handlerEnd, responseReadyAt }: RequestState
): { handlerStart?: number, handler?: number, firstByte?: number } {
  const between = (from: number, to: number): number => Math.round((to - from) * 1000) / 1000
  return {
    ...(handlerEnd !== 0 && {
      handlerStart: between(startedAt, handlerStart),
      handler: between(handlerStart, handlerEnd)
    }),
    ...(responseReadyAt !== 0 && { firstByte: between(startedAt, responseReadyAt) })
  }
}

/** One bar of the waterfall. */
export interface Span {
  kind: 'listener' | 'hook' | 'handler' | 'call' | 'span'
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

/** The listeners, hooks, handler, calls and spans of a profile, ordered by their start. */
export function spansOf (profile: Profile): Span[] {
  return [...listenerSpans(profile), ...handlerSpans(profile), ...callSpans(profile), ...telemetrySpans(profile)]
    .filter(({ start }) => Number.isFinite(start))
    .sort((a, b) => a.start - b.start || Number(b.duration) - Number(a.duration))
}

function listenerSpans ({ events }: Profile): Span[] {
  return events.flatMap(({ stage, listener, pass, outcome, source, start, duration }, i): Span[] => {
    if (outcome === 'skipped') return []
    const title = `${stage}${pass === 'error' ? ', error pass' : ''}`
    return [{
      kind: stage.startsWith('kernel.') ? 'listener' : 'hook',
      name: listener,
      start,
      duration,
      failed: outcome === 'raised',
      detail: `${title}: ${outcome}${source === undefined ? '' : `; added at ${source}`}`,
      link: addressOf('events', `event-${i + 1}`),
      stage: title
    }]
  })
}

/** The handler; none if it was not called. */
function handlerSpans (profile: Profile): Span[] {
  const { handlerStart, handler } = dataOf(profile, 'performance')
  if (typeof handlerStart !== 'number' || typeof handler !== 'number') return []
  const name = profile.route?.name ?? 'unnamed'
  return [{
    kind: 'handler',
    name: `handler ${name}`,
    start: handlerStart,
    duration: handler,
    failed: false,
    detail: `the handler of the route ${name}`,
    link: addressOf('router')
  }]
}

function callSpans (profile: Profile): Span[] {
  const own = URL.canParse(profile.url) ? new URL(profile.url).host : ''
  return listOf(dataOf(profile, 'http-client').calls).map((call, i) => {
    const { method, status, error } = call
    const url = String(call.url)
    const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '', pathname: url }
    return {
      kind: 'call',
      name: `${String(method)} ${host === own ? '' : host}${pathname}`,
      ...timesOf(call),
      failed: isFailedCall(call),
      detail: `${url}: ${String(error ?? status ?? 'no response yet')}`,
      link: addressOf('http-client', `call-${i + 1}`)
    }
  })
}

function telemetrySpans (profile: Profile): Span[] {
  return listOf(dataOf(profile, 'spans').spans).map((span, i) => {
    const { name, kind, error, spanId, parentId } = span
    return {
      kind: 'span',
      name: String(name),
      ...timesOf(span),
      failed: error !== undefined,
      detail: `${String(kind)} span${error === undefined ? '' : `, failed: ${String(error)}`}`,
      link: addressOf('spans', `span-${i + 1}`),
      id: spanId,
      parentId
    }
  })
}

function timesOf ({ start, duration }: Data): Pick<Span, 'start' | 'duration'> {
  return { start: Number(start), duration: typeof duration === 'number' ? duration : null }
}
