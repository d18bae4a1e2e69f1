import type { Recording } from '../../recording/recording.js'
import { isNotification, mostSevere } from '../../logs/log-record.js'
import { readAsset } from '../../view/asset.js'
import { counted, grouped, visibleLine } from '../../view/visible.js'
import { html } from '../../view/html.js'
import { milliseconds, note, pending } from '../../view/components.js'
import type { Profile } from '../../store/profile.js'
import { addressOf, listOf, numberOf, timelineOf, type Data, type Span } from '../read.js'
import { busiestPlace, CPU_HEADER } from '../cpu/index.js'
import { round } from '../collect.js'
import type { PanelView, Part, TimelineEntry } from '../part.js'
import { budgetSentence, type TimeBudget } from './budget.js'

/** Maximum hooks, calls and spans that are shown. */
const MAX_SPANS = 60
const MAX_MARKS = 100
const MAX_NAME = 120

/** The waterfall of listeners, hooks, handler, and of the work within them, and where the time went. */
export const performance: Part<Data> = {
  name: 'performance',
  panel: {
    label: 'Performance',
    group: 'overview',
    always: true,
    warnings: (data) => blocksOf(data).length,
    render: (data, profile, view) => {
      const block = blockSentence(data, profile)
      return budgetOf(data, profile).map((text) => html`<p>${text}</p>`).join('') +
        (block === undefined ? '' : html`<ul class="findings"><li>${block}</li></ul>`) + waterfall(data, profile, view)
    }
  },
  sentence: (data, profile) => budgetOf(data, profile)[0],
  timeline ({ handlerStart, handler, hindsightStart, hindsight, budget }, { route }) {
    const name = route?.name ?? 'unnamed'
    const detail = `the handler of the route ${name}`
    const link = addressOf('router')
    return [
      { step: 'handler', name: `handler ${name}`, start: handlerStart, duration: numberOf(handler), detail, link },
      {
        ofHindsight: true,
        name: 'Hindsight',
        start: hindsightStart,
        duration: numberOf(hindsight),
        legend: 'page or toolbar of Hindsight'
      },
      ...listOf((budget as Data | undefined)?.collections).map(({ start, duration }) => (
        { name: 'garbage collection', color: 'collection', legend: 'garbage collection', start, duration }))
    ].filter(({ duration }) => typeof duration === 'number') as TimelineEntry[]
  },
  overview ({ handler, firstByte, hindsight }, { duration }) {
    const own = { 'Page or toolbar of Hindsight (not in the total)': hindsight }
    const times = Object.entries({ Total: duration, Handler: handler, 'Response ready': firstByte, ...own })
      .filter(([, time]) => typeof time === 'number')
      .map(([name, time]) => html`<div>${name} <strong>${milliseconds(time)}</strong></div>`)
    return [{ order: 10, title: 'Time', value: times.join('') }]
  },
  markdown (data, profile) {
    const text = blockSentence(data, profile)
    return text === undefined ? [] : [{ order: 24, title: 'Blocked event loop', text }]
  },
  toolbar: (data, { duration }) => {
    const [handlerDuration, firstByte] = [numberOf(data.handler), numberOf(data.firstByte)]
    return {
      order: 30,
      className: 'time',
      title: 'Time',
      head: html`${milliseconds(duration)}`,
      facts: { Handler: milliseconds(handlerDuration), 'Response ready': milliseconds(firstByte ?? duration) },
      // Until the response was ready to be sent; null: not available.
      values: { handlerDuration, firstByte }
    }
  },
  toolbarStyle: '.time { --icon: ' +
    '"M7 0a7 7 0 100 14A7 7 0 007 0zm0 2a5 5 0 110 10A5 5 0 017 2zm-1 2h1.5v3l2.5 1-1 1.5L6 8z" }\n',
  times ({ budget }) {
    const { javascript, waiting, sending } = (budget ?? {}) as Partial<TimeBudget>
    const times = {
      JavaScript: javascript,
      'waiting for something that was not recorded': waiting,
      'sending the response': sending
    }
    return Object.entries(times).flatMap(([name, time]) => time === undefined ? [] : [{ name, time }])
  },
  comparison: [],
  style: readAsset(import.meta.url, './style.css')
}

/**
 * The data of the part `performance`, in milliseconds: the duration of the handler, when it began, and when the
 * response was ready to be sent, both since the request arrived; how long Hindsight made its page or toolbar, which
 * neither `firstByte` nor the duration of the profile contains; and where the time went.
 */
export function performanceRecord ({ timing, work }: Recording): Data {
  const { startedAt, handlerStart, handlerEnd, responseReadyAt, ownStart, own } = timing
  return {
    ...(handlerEnd !== 0 && {
      handlerStart: round(handlerStart - startedAt),
      handler: round(handlerEnd - handlerStart)
    }),
    ...(responseReadyAt !== 0 && { firstByte: round(responseReadyAt - startedAt - own) }),
    ...(own !== 0 && { hindsightStart: round(ownStart - startedAt), hindsight: round(own) }),
    ...(work !== undefined && { budget: work.budget(responseReadyAt, own) })
  }
}

function budgetOf ({ budget }: Data, { duration }: Pick<Profile, 'duration'>): string[] {
  return budget === undefined ? [] : [budgetSentence(budget as TimeBudget, duration)]
}

function blocksOf ({ budget }: Data): TimeBudget['blocks'] {
  return (budget as TimeBudget | undefined)?.blocks ?? []
}

/** Why and where the event loop was blocked. */
function blockSentence (data: Data, { collectors: { cpu }, method, url }: Profile): string | undefined {
  const [longest] = [...blocksOf(data)].sort((a, b) => b.duration - a.duration)
  if (longest === undefined) return undefined
  const isShared = (data.budget as TimeBudget).isShared
  const by = isShared ? ', by this request or by another one' : ''
  const blocked = `The event loop was blocked for ${milliseconds(longest.duration)}${by}`
  const place = busiestPlace(cpu)
  if (place !== null) return `${blocked}: most of the time ran ${place}.`
  const command = method === 'GET'
    ? `curl -H '${CPU_HEADER}: 1' '${url.replaceAll("'", '%27')}'`
    : `send the request again with the header ${CPU_HEADER}: 1`
  return `${blocked}. For the line of code, record a CPU profile: ${command}`
}

interface Row extends Span {
  /** The listeners of a stage, or the calls and spans that a handler, a hook or a span started. */
  children: Row[]
  isStage?: boolean
}

/** The chart of a profile as SVG: a strict policy forbids inline styles. */
function waterfall ({ firstByte, hindsight = 0 }: Data, profile: Profile, { parts }: PanelView): string {
  const spans = timelineOf(parts, profile)
  if (spans.length === 0) return note('No listener was reached.')
  const ends = spans.map(({ start, duration }) => start + (duration ?? 0))
  const total = Math.max(profile.duration + Number(hindsight) || 0, ...ends, 0.001)
  const ready = typeof firstByte === 'number' ? firstByte + Number(hindsight) : null
  const shown = mostRelevant(spans)
  const left = spans.length - shown.length
  const omission = `${grouped(left)} entries are left out: they took less time, and did not fail.`
  return html`!${legend(spans, ready)}!${left === 0 ? '' : note(omission)}<div class="waterfall">!${scale(total, ready)}
<div class="row head" aria-hidden="true"><span>Name</span><span></span><span class="number">Start</span>
<span class="number">Duration</span></div>
<ol aria-label="Waterfall">!${logRow(profile, total)}!${rowsOf(shown).map((row) => item(row, total))}</ol></div>`
}

/** All listeners and the handler; of many hooks, calls and spans those that failed, then the longest. */
function mostRelevant (spans: readonly Span[]): Span[] {
  const weight = ({ failed, duration }: Span): number => failed ? Number.MAX_VALUE : duration ?? 1e9
  const limited = spans.filter(({ step }) => step !== 'listener' && step !== 'handler')
  const hidden = new Set(limited.sort((a, b) => weight(b) - weight(a)).slice(MAX_SPANS))
  return spans.filter((span) => !hidden.has(span))
}

function rowsOf (spans: readonly Span[]): Row[] {
  const rows = spans.map((span): Row => ({ ...span, children: [] }))
  const listeners = rows.filter(({ step }) => step === 'listener')
  const stages = [...new Set(listeners.map(({ stage }) => stage))].map((stage): Row => {
    const children = listeners.filter((row) => row.stage === stage)
    const duration = children.reduce((sum, { duration }) => sum + Number(duration), 0)
    const failed = children.some((row) => row.failed)
    return { ...children[0] as Row, name: String(stage), duration, failed, children, isStage: true }
  })
  const top = rows.filter((row, i) => {
    const parent = parentOf(row, rows.slice(0, i))
    parent?.children.push(row)
    return parent === undefined && row.step !== 'listener'
  })
  return [...stages, ...top].sort((a, b) => a.start - b.start)
}

// Only an earlier row can be the parent, so that there are no cycles.
function parentOf ({ step, start, parentId }: Row, earlier: readonly Row[]): Row | undefined {
  if (step !== undefined) return undefined
  return earlier.find(({ id }) => id !== undefined && id === parentId) ?? earlier.findLast((row) =>
    (row.step === 'handler' || row.step === 'hook') && start < row.start + Number(row.duration))
}

function item (row: Row, total: number): string {
  const { name, start, duration, detail, link, failed, isStage = false, children } = row
  const list = children.length === 0 ? '' : html`<ol>!${children.map((child) => item(child, total))}</ol>`
  const bars = (isStage ? children : [row]).map((one) => bar(one, total))
  const cells = html`<svg class="bars" aria-hidden="true">!${bars}</svg>
<span class="number start"><span class="hidden-visually">start </span>${milliseconds(start)}</span>
<span class="number"><span class="hidden-visually">duration </span>!${pending(duration)}</span>`
  if (isStage) {
    return html`<li><details!${failed ? ' open' : ''}><summary class="row"><span class="name">${name} ` +
      html`<small>${counted(children.length, 'listener')}</small></span>!${cells}</summary>!${list}</details></li>`
  }
  return html`<li><div class="row"><a class="name" href="${link}" title="${visibleLine(detail)}">` +
    html`${visibleLine(name).slice(0, MAX_NAME)}</a>!${cells}</div>!${list}</li>`
}

function bar ({ step, color, start, duration, failed }: Span, total: number): string {
  const x = Math.min(99.7, Math.max(0, start / total * 100))
  const width = Math.max(0.3, Math.min(100 - x, (duration ?? total - start) / total * 100))
  const kind = failed ? 'failed' : step ?? color
  return html`<rect class="bar-${kind}" x="${x.toFixed(2)}%" width="${width.toFixed(2)}%"/>`
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

/** A row with a mark for each log line: the most severe or latest ones. */
function logRow ({ logs, time }: Profile, total: number): string {
  const lines = logs.filter((line) => !isNotification(line))
  if (lines.length === 0) return ''
  const marks = mostSevere(lines, MAX_MARKS).map(({ level, message, ...line }) => {
    const at = line.offset ?? Date.parse(line.time) - Date.parse(time)
    const x = Math.min(100, Math.max(0, at / total * 100)).toFixed(2)
    const title = visibleLine(`${milliseconds(at)}, ${level}: ${message}`).slice(0, MAX_NAME)
    return html`<circle class="mark-${level}" cx="${x}%" cy="10" r="4"><title>${title}</title></circle>`
  })
  return html`<li><div class="row"><a class="name" href="${addressOf('logs')}">` +
    html`${counted(lines.length, 'log line')}</a><svg class="bars" aria-hidden="true">!${marks}</svg></div></li>`
}

function legend (spans: readonly Span[], ready: number | null): string {
  const swatch = (shape: string, label: string): string =>
    html`<li><svg viewBox="0 0 10 10" aria-hidden="true">!${shape}</svg>${label}</li>`
  const kinds = new Map(spans.map(({ step, color, legend }) => [legend, step ?? color]))
  kinds.delete(undefined)
  if (spans.some(({ failed }) => failed)) kinds.set('failed', 'failed')
  const bars = [...kinds].map(([label = '', name]) =>
    swatch(html`<rect class="bar-${name}" width="10" height="10"/>`, label))
  const line = ready === null
    ? ''
    : swatch('<line class="ready" x1="5" x2="5" y2="10"/>', `Response ready ${milliseconds(ready)}`)
  return html`<ul class="legend" aria-label="Legend">!${bars}!${line}</ul>`
}
