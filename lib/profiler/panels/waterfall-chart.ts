import { isNotification, mostSevere } from '../../logs/log-record.js'
import { counted, grouped } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { milliseconds, note, pending, select } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { PAGE } from './logs.js'
import { addressOf, dataOf } from './panel.js'
import { spansOf, type Span } from './waterfall.js'

const THRESHOLDS = ['0', '0.1', '0.5', '1', '5', '10', '50']
/** The kinds that are in the legend and whose rows are limited, with the panels that have all of them. */
const KINDS = [
  ['hook', 'application hook', 'events'],
  ['call', 'outgoing HTTP call', 'http-client'],
  ['span', 'OpenTelemetry span', 'spans']
] as const
const MAX_ROWS = 30
const MAX_MARKS = 100
const MAX_NAME = 120
/** The marks of log lines by level. */
const MARKS = new Map([['debug', '○'], ['info', '●'], ['warn', '▲'], ['error', '■'], ['fatal', '◆']])

interface Row extends Span {
  /** Of a stage its listeners; otherwise the calls and spans that were started by a handler, a hook or a span. */
  children: Row[]
  isStage?: boolean
}

/** The chart of a profile; `threshold` hides shorter spans (ms). SVG, as a strict policy forbids inline styles. */
export function waterfall (profile: Profile, threshold: string): string {
  const spans = spansOf(profile)
  if (spans.length === 0) return note('No listener was reached.')
  const least = THRESHOLDS.includes(threshold) ? threshold : '0'
  const total = Math.max(profile.duration || 0, ...spans.map(({ start, duration }) => start + (duration ?? 0)), 0.001)
  const { firstByte } = dataOf(profile, 'performance')
  const ready = typeof firstByte === 'number' ? firstByte : null
  const { shown, notes } = limited(profile, spans.filter(({ duration }) => (duration ?? Infinity) >= Number(least)))
  return html`<form method="get" class="filters"><input type="hidden" name="panel" value="performance">
!${select('Min. duration (ms)', 'threshold', THRESHOLDS.map((value) => [value, value]), least)}
<button type="submit">Show</button></form>
!${legend(profile, spans, ready)}!${notes}<div class="waterfall">!${scale(total, ready)}
<div class="row head" aria-hidden="true"><span>Name</span><span></span><span class="number">Start</span>
<span class="number">Duration</span></div>
<ol aria-label="Waterfall">!${logRow(profile, total)}!${rowsOf(shown).map((row) => item(row, total))}</ol></div>`
}

function limited (profile: Profile, spans: readonly Span[]): { shown: Span[], notes: string[] } {
  const hidden = new Set<Span>()
  const notes = KINDS.map(([name, label, panel]) => {
    const own = spans.filter(({ kind }) => kind === name)
    if (own.length <= MAX_ROWS) return ''
    const weight = ({ failed, duration }: Span): number => failed ? Number.MAX_VALUE : duration ?? 1e9
    for (const span of own.sort((a, b) => weight(b) - weight(a)).slice(MAX_ROWS)) hidden.add(span)
    const all = grouped(Math.max(own.length, Number(dataOf(profile, panel).count) || 0))
    return html`<p class="note">${MAX_ROWS} of ${all} ${label}s are shown, by time: those that failed, then the ` +
      html`longest. <a href="${addressOf(panel)}">Show all that were recorded</a></p>`
  })
  return { shown: spans.filter((span) => !hidden.has(span)), notes }
}

function rowsOf (spans: readonly Span[]): Row[] {
  const rows = spans.map((span): Row => ({ ...span, children: [] }))
  const listeners = rows.filter(({ kind }) => kind === 'listener')
  const stages = [...new Set(listeners.map(({ stage }) => stage))].map((stage): Row => {
    const children = listeners.filter((row) => row.stage === stage)
    const duration = children.reduce((sum, { duration }) => sum + Number(duration), 0)
    const failed = children.some((row) => row.failed)
    return { ...children[0] as Row, name: String(stage), duration, failed, children, isStage: true }
  })
  const top = rows.filter((row, i) => {
    const starter = starterOf(row, rows.slice(0, i))
    starter?.children.push(row)
    return starter === undefined && row.kind !== 'listener'
  })
  return [...stages, ...top].sort((a, b) => a.start - b.start)
}

// Only of earlier rows, so that there are no circles.
function starterOf ({ kind, start, parentId }: Row, earlier: readonly Row[]): Row | undefined {
  if (kind !== 'call' && kind !== 'span') return undefined
  return earlier.find(({ id }) => id !== undefined && id === parentId) ?? earlier.findLast((row) =>
    (row.kind === 'handler' || row.kind === 'hook') && start < row.start + Number(row.duration))
}

function item (row: Row, total: number): string {
  const { name, start, duration, detail, link, failed, isStage = false, children } = row
  const list = children.length === 0 ? '' : html`<ol>!${children.map((child) => item(child, total))}</ol>`
  const bars = (isStage ? children : [row]).map((one) => bar(one, total))
  const cells = html`<svg class="bars" aria-hidden="true">!${bars}</svg>
<span class="number start"><span class="hidden-visually">start </span>${milliseconds(start)}</span>
<span class="number"><span class="hidden-visually">duration </span>!${pending(duration)}</span>`
  return isStage
    ? html`<li><details!${failed ? ' open' : ''}><summary class="row"><span class="name">${name} <small>` +
      html`${counted(children.length, 'listener')}</small></span>!${cells}</summary>!${list}</details></li>`
    : html`<li><div class="row"><a class="name" href="${link}">${visibleLine(name).slice(0, MAX_NAME)}</a> ` +
      html`<span class="tip">${visibleLine(detail)}</span> !${cells}</div>!${list}</li>`
}

function bar ({ kind, start, duration, failed }: Span, total: number): string {
  const x = Math.min(99.7, Math.max(0, start / total * 100))
  const width = Math.max(0.3, Math.min(100 - x, (duration ?? total - start) / total * 100))
  return html`<rect class="bar-${failed ? 'failed' : kind}" x="${x.toFixed(2)}%" width="${width.toFixed(2)}%"/>`
}

/** Lines at 4 to 8 round times, and one where the response was ready. */
function scale (total: number, ready: number | null): string {
  const x = (time: number): string => `${(time / total * 100).toFixed(2)}%`
  const line = (time: number, name: string): string =>
    html`<line class="${name}" x1="${x(time)}" x2="${x(time)}" y1="20" y2="100%"/>`
  const magnitude = 10 ** Math.floor(Math.log10(total / 8))
  const step = magnitude * ([2, 5].find((factor) => total / (factor * magnitude) < 8) ?? 10)
  const [unit, size] = total < 1 ? ['µs', 0.001] : ['ms', 1]
  const ticks = Array.from({ length: Math.floor(total / step) + 1 }, (_, i) => {
    const time = (i * step / size).toLocaleString('en', { maximumFractionDigits: 3 })
    return line(i * step, 'tick') + html`<text x="${x(i * step)}" y="14">${i === 0 ? '0' : `${time} ${unit}`}</text>`
  })
  return html`<svg class="scale" aria-hidden="true">!${ticks}!${ready === null ? '' : line(ready, 'ready')}</svg>`
}

/** A row with a mark for each log line. Its link has the same lines, so that the marks need no focus. */
function logRow ({ logs, time }: Profile, total: number): string {
  const lines = logs.map((line, i) => ({ ...line, number: i + 1 })).filter((line) => !isNotification(line))
    .map((line, i) => ({ ...line, page: Math.floor(i / PAGE) + 1 }))
  if (lines.length === 0) return ''
  const levels = [...MARKS.keys()]
  const marked = mostSevere(lines, MAX_MARKS).sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level))
  const marks = marked.map(({ level, message, number, page, ...line }) => {
    const at = line.offset ?? Date.parse(line.time) - Date.parse(time)
    const x = Math.min(100, Math.max(0, at / total * 100)).toFixed(2)
    const link = addressOf('logs', [['level', 'trace'], ['page', String(page)]], `line-${number}`)
    const title = visibleLine(`${milliseconds(at)}, ${level}: ${message}`).slice(0, MAX_NAME)
    return html`<a href="${link}" tabindex="-1"><text class="mark-${MARKS.has(level) ? level : 'debug'}" x="${x}%" ` +
      html`y="15"><title>${title}</title>${MARKS.get(level) ?? '○'}</text></a>`
  })
  const number = lines.length > MAX_MARKS ? html` <small>the ${MAX_MARKS} most severe or latest</small>` : ''
  return html`<li><div class="row"><a class="name" href="${addressOf('logs')}">${counted(lines.length, 'log line')}` +
    html`!${number}</a> <svg class="bars" aria-hidden="true">!${marks}</svg></div></li>`
}

function legend ({ logs }: Profile, spans: readonly Span[], ready: number | null): string {
  const swatch = (shape: string, label: string): string =>
    html`<li><svg viewBox="0 0 10 10" aria-hidden="true">!${shape}</svg>${label}</li>`
  const bar = (name: string, label: string, isShown: (span: Span) => boolean): string =>
    spans.some(isShown) ? swatch(html`<rect class="bar-${name}" width="10" height="10"/>`, label) : ''
  const kinds = KINDS.map(([name, label]) => bar(name, label, ({ kind }) => kind === name))
  const marks = [...MARKS].filter(([name]) => logs.some((line) => line.level === name && !isNotification(line)))
    .map(([name, mark]) => html`<li><span class="mark-${name}">${mark}</span>${name}</li>`)
  return html`<ul class="legend" aria-label="Legend">!${kinds}!${bar('failed', 'failed', ({ failed }) => failed)}!${
    ready === null ? '' : swatch('<line class="ready" x1="5" x2="5" y2="10"/>', `Response ready ${milliseconds(ready)}`)
  }!${marks}</ul>`
}
