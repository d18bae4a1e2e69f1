import { html } from '../../../view/html.js'
import { visibleLine } from '../../../view/visible.js'
import type { Profile } from '../../profile.js'
import { milliseconds, note, scrollable } from '../../pages/components.js'
import { addressOf, dataOf } from '../panel.js'
import { KINDS, spansOf, type Kind, type Span } from './spans.js'

const THRESHOLDS = ['0', '0.1', '0.5', '1', '5', '10', '50']
const MAX_NAME = 120
/** The width of the chart in its own units: a policy without inline styles leaves the attributes of SVG to say where a bar is. */
const WIDTH = 1000

interface Scale {
  /** Milliseconds that the whole width stands for. */
  total: number
  firstByte: number | null
}

/** All that took time along one axis: a table whose rows have a bar each. */
export function waterfall (profile: Profile, wanted: string): string {
  const spans = spansOf(profile)
  if (spans.length === 0) return note('No listener was reached.')
  const threshold = THRESHOLDS.includes(wanted) ? wanted : '0'
  const { firstByte } = dataOf(profile, 'performance')
  const scale: Scale = {
    total: Math.max(profile.duration || 0, ...spans.map(({ start, duration }) => start + (duration ?? 0)), 0.001),
    firstByte: typeof firstByte === 'number' ? firstByte : null
  }
  const hidden = (span: Span): boolean => span.duration !== null && span.duration < Number(threshold)
  return form(threshold) + legend(spans, scale) + scrollable('Waterfall', html`<table class="waterfall" aria-label="Waterfall"><thead><tr>
<th scope="col">What</th><th scope="col" class="chart">!${axis(scale)}</th><th scope="col" class="number">Start</th><th scope="col" class="number">Duration</th>
</tr></thead><tbody>!${spans.map((span) => row(span, scale, hidden(span)))}</tbody></table>`)
}

function form (threshold: string): string {
  return html`<form method="get" class="filters threshold"><input type="hidden" name="panel" value="performance">
<label>Show what took at least <select name="threshold">!${THRESHOLDS.map((value) =>
    html`<option value="${value}"!${value === threshold ? ' selected' : ''}>${value} ms</option>`)}</select></label> <button type="submit">Show</button></form>`
}

function legend (spans: readonly Span[], { firstByte }: Scale): string {
  const kinds = (Object.keys(KINDS) as Kind[]).map((kind) => ({ kind, own: spans.filter((span) => span.kind === kind) })).filter(({ own }) => own.length > 0)
  return html`<ul class="legend" aria-label="Legend">!${kinds.map(({ kind, own }) =>
    html`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="bar-${kind}" width="10" height="10"/></svg>${KINDS[kind]} <span class="none">${milliseconds(own.reduce((sum, { duration }) => sum + (duration ?? 0), 0))}</span></li>`)}!${
    spans.some(({ failed }) => failed) ? '<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="bar-failed" width="10" height="10"/></svg>failed</li>' : ''}!${
    firstByte === null ? '' : html`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><path class="first-byte" d="M5 0V10"/></svg>first byte <span class="none">${milliseconds(firstByte)}</span></li>`}</ul>`
}

function axis ({ total }: Scale): string {
  return html`<span class="hidden-visually">Bar</span><span class="ticks" aria-hidden="true">!${[0, 0.25, 0.5, 0.75].map((part) => html`<span>${milliseconds(total * part)}</span>`)}</span>`
}

function row (span: Span, { total, firstByte }: Scale, hidden: boolean): string {
  const { kind, name, start, duration, failed, detail, panel, fragment } = span
  const x = Math.min(WIDTH - 3, Math.max(0, start / total * WIDTH))
  const width = Math.max(3, Math.min(WIDTH - x, (duration ?? total - start) / total * WIDTH))
  const first = firstByte === null ? '' : html`<path class="first-byte" d="M${(firstByte / total * WIDTH).toFixed(1)} 0V20"/>`
  return html`<tr class="span" data-duration="${duration ?? 'Infinity'}"!${hidden ? ' hidden' : ''}><th scope="row"><a href="${addressOf(panel, [], fragment)}">${visibleLine(name).slice(0, MAX_NAME)}</a><span class="tip">${visibleLine(detail)}</span></th>
<td class="chart"><svg viewBox="0 0 ${WIDTH} 20" preserveAspectRatio="none" aria-hidden="true"><title>${visibleLine(`${name}: ${milliseconds(start)} + ${milliseconds(duration)}`)}</title>!${first}<rect class="bar-!${failed ? 'failed' : kind}" x="${x.toFixed(1)}" y="4" width="${width.toFixed(1)}" height="12"/></svg></td>
<td class="number">${milliseconds(start)}</td><td class="number">!${duration === null ? '<span class="none">pending</span>' : milliseconds(duration)}</td></tr>`
}
