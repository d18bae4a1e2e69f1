import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { milliseconds, note, pending, scrollable, select } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { addressOf, dataOf, isFailedCall, isObject, listOf, type Data } from './panel.js'

/** The kinds of bars with their names in the legend. */
const KINDS = {
  request: 'kernel.request',
  controller: 'kernel.controller',
  arguments: 'kernel.controller_arguments',
  handler: 'handler',
  serialization: 'serialization',
  response: 'kernel.response',
  finish: 'kernel.finish_request',
  hook: 'application hook',
  call: 'outgoing HTTP call',
  span: 'OpenTelemetry span'
} as const

type Kind = keyof typeof KINDS

/** One bar of the waterfall. */
export interface Span {
  kind: Kind
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
}

const THRESHOLDS = ['0', '0.1', '0.5', '1', '5', '10', '50']
const MAX_NAME = 120
const MAX_ATTRIBUTES = 6
const MAX_ATTRIBUTE = 80
/** The width of the chart in units of its viewBox. SVG, as a strict policy forbids inline styles. */
const WIDTH = 1000

/** All that took time, by start. */
export function spansOf (profile: Profile): Span[] {
  return [...listenerSpans(profile), ...handlerSpans(profile), ...callSpans(profile), ...telemetrySpans(profile)]
    .filter(({ start }) => Number.isFinite(start))
    .sort((a, b) => a.start - b.start || Number(b.duration) - Number(a.duration))
}

function listenerSpans ({ events }: Profile): Span[] {
  return events.map((event, i) => {
    const { stage, listener, pass, outcome, plugin, source, start, duration, changes } = event
    const headers = (changes?.headers ?? []).map(({ name }) => name).join(', ')
    const kind = (Object.keys(KINDS) as Kind[]).find((kind) => stage.startsWith('kernel.') && KINDS[kind] === stage)
    return {
      kind: kind ?? 'hook',
      name: listener,
      start,
      duration,
      failed: outcome === 'raised',
      detail: [
        `${stage}${pass === 'error' ? ', error pass' : ''}: ${outcome}`,
        ...(headers === '' ? [] : [headers]),
        ...(source === undefined ? [] : [`added ${plugin === undefined ? '' : `by ${plugin} `}at ${source}`])
      ].join('; '),
      link: addressOf('events', [], `event-${i + 1}`)
    }
  }).filter((_, i) => events[i]?.outcome !== 'skipped')
}

/** The handler, and the serialization of its result. */
export function handlerSpans (profile: Profile): Span[] {
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
  return listOf(dataOf(profile, 'http-client').calls).map((call, i) => ({
    kind: 'call',
    name: `${String(call.method)} ${String(call.url)}`,
    ...timesOf(call),
    failed: isFailedCall(call),
    detail: call.error !== undefined
      ? String(call.error)
      : typeof call.status === 'number' ? `answered with ${call.status}` : 'no response yet',
    link: addressOf('http-client', [], `call-${i + 1}`)
  }))
}

function telemetrySpans (profile: Profile): Span[] {
  return listOf(dataOf(profile, 'spans').spans).map((span, i) => {
    const { name, kind, scope, error, attributes } = span
    const scopeText = scope === '' || scope === undefined ? '' : ` of ${String(scope)}`
    const fields = Object.entries(isObject(attributes) ? attributes : {}).slice(0, MAX_ATTRIBUTES)
    return {
      kind: 'span',
      name: String(name),
      ...timesOf(span),
      failed: error !== undefined,
      detail: [
        `${String(kind)} span${scopeText}${error === undefined ? '' : `, failed: ${String(error)}`}`,
        ...fields.map(([name, value]) => `${name}: ${String(value)}`.slice(0, MAX_ATTRIBUTE))
      ].join('; '),
      link: addressOf('spans', [], `span-${i + 1}`)
    }
  })
}

function timesOf ({ start, duration }: Data): Pick<Span, 'start' | 'duration'> {
  return { start: Number(start), duration: typeof duration === 'number' ? duration : null }
}

interface Scale {
  /** Milliseconds of the whole width. */
  total: number
  firstByte: number | null
}

/** A table with a bar in each row; `threshold` hides shorter spans (ms). */
export function waterfall (profile: Profile, threshold: string): string {
  const spans = spansOf(profile)
  if (spans.length === 0) return note('No listener was reached.')
  const least = THRESHOLDS.includes(threshold) ? threshold : '0'
  const { firstByte } = dataOf(profile, 'performance')
  const scale: Scale = {
    total: Math.max(profile.duration || 0, ...spans.map(({ start, duration }) => start + (duration ?? 0)), 0.001),
    firstByte: typeof firstByte === 'number' ? firstByte : null
  }
  const shown = spans.filter(({ duration }) => (duration ?? Infinity) >= Number(least))
  const ticks = [0, 0.25, 0.5, 0.75].map((part) => html`<span>${milliseconds(scale.total * part)}</span>`)
  return thresholdForm(least) + legend(spans, scale) +
    scrollable('Waterfall', html`<table class="waterfall" aria-label="Waterfall"><thead><tr>
<th scope="col">Name</th><th scope="col" class="chart"><span class="hidden-visually">Bar</span>
<span class="ticks" aria-hidden="true">!${ticks}</span></th><th scope="col" class="number">Start</th>
<th scope="col" class="number">Duration</th>
</tr></thead><tbody>!${shown.map((span) => row(span, scale))}</tbody></table>`)
}

function thresholdForm (least: string): string {
  const options = THRESHOLDS.map((value) => [value, `${value} ms`] as const)
  return html`<form method="get" class="filters threshold"><input type="hidden" name="panel" value="performance">
!${select('Min. duration', 'threshold', options, least)} <button type="submit">Show</button></form>`
}

function legend (spans: readonly Span[], { firstByte }: Scale): string {
  const item = (shape: string, label: string, duration: number | null): string =>
    html`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">!${shape}</svg>${label}!${
      duration === null ? '' : html` <span class="none">${milliseconds(duration)}</span>`}</li>`
  const bar = (name: string): string => html`<rect class="bar-${name}" width="10" height="10"/>`
  const kinds = (Object.keys(KINDS) as Kind[]).map((kind) => {
    const own = spans.filter((span) => span.kind === kind)
    if (own.length === 0) return ''
    return item(bar(kind), KINDS[kind], own.reduce((sum, { duration }) => sum + (duration ?? 0), 0))
  })
  const failed = spans.some(({ failed }) => failed) ? item(bar('failed'), 'failed', null) : ''
  const first = firstByte === null ? '' : item('<path class="first-byte" d="M5 0V10"/>', 'response ready', firstByte)
  return html`<ul class="legend" aria-label="Legend">!${kinds}!${failed}!${first}</ul>`
}

function row (span: Span, { total, firstByte }: Scale): string {
  const { kind, name, start, duration, failed, detail, link } = span
  const x = Math.min(WIDTH - 3, Math.max(0, start / total * WIDTH))
  const width = Math.max(3, Math.min(WIDTH - x, (duration ?? total - start) / total * WIDTH))
  const first = firstByte === null
    ? ''
    : html`<path class="first-byte" d="M${(firstByte / total * WIDTH).toFixed(1)} 0V20"/>`
  const title = visibleLine(`${name}: ${milliseconds(start)} + ${milliseconds(duration)}`)
  return html`<tr class="span">
<th scope="row"><a href="${link}">${visibleLine(name).slice(0, MAX_NAME)}</a>
<span class="tip">${visibleLine(detail)}</span></th>
<td class="chart"><svg viewBox="0 0 ${WIDTH} 20" preserveAspectRatio="none" aria-hidden="true"><title>${title}</title>
!${first}<rect class="bar-${failed ? 'failed' : kind}" x="${x.toFixed(1)}" y="4" width="${width.toFixed(1)}"
height="12"/></svg></td><td class="number">${milliseconds(start)}</td>
<td class="number">!${pending(duration)}</td></tr>`
}
