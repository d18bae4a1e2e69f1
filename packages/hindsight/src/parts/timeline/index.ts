import { isFailure, type Profile } from '../../store/profile.js'
import { readAsset } from '../../view/asset.js'
import { formatTime, noteText, pendingTime, placeElement, placeLink, withPlaces } from '../../view/components.js'
import {
  formatCount, cutText, formatInteger, html, oneLine, formatNumber, presentItems, unbrokenUnits, visibleLine,
  type HtmlValue, type SafeHtml
} from '../../view/text.js'
import type { PanelView, Part } from '../part.js'
import { blockSentence, blocksOf, budgetOf } from '../performance/index.js'
import { recordForm } from '../cpu/record-form.js'
import {
  addressOf, afterTitle, dataOf, lineOf, numberOf, queryField, timelineOf, timeOf, type Span
} from '../read.js'
import { timelineRows, type Row } from './rows.js'

/** Rows of a page. */
const PAGE = 200
/** Of the overview, where a failure shows its code, too. */
const FEW_ROWS = { success: 7, failure: 5 }
/** Entries that the details of a row list. */
const MAX_MEMBERS = 50
/** Characters. */
const MAX_NAME = 100
const MAX_DETAIL = 200
/** Percent of the width: narrower bars are not visible. */
const MIN_WIDTH = 0.3
/** Percent of the width of a narrow chart that a label takes. */
const MIN_LABEL = 15
/** Percent of the width before the end of the response, if there was longer work after it. */
const MAIN_WIDTH = 80

/** Everything that happened in a request, in the order of its nesting, on one axis. */
export const timeline: Part = {
  name: 'timeline',
  panel: {
    label: 'Timeline',
    group: 'timeline',
    always: true,
    warnings: (_, profile) => blocksOf(dataOf(profile, 'performance')).length,
    render: (_, profile, view) => {
      const data = dataOf(profile, 'performance')
      const block = blockSentence(data, profile)
      return [
        budgetOf(data, profile).map((text) => html`<p>${unbrokenUnits(text)}</p>`),
        block !== undefined && html`<ul class="findings"><li>${withPlaces(block, view.editor)}</li></ul>`,
        recordForm(profile, view),
        renderPage(profile, view)
      ]
    }
  },
  // A list has little space.
  issue (_, profile) {
    const sentence = blockSentence(dataOf(profile, 'performance'), profile) ?? ''
    return /blocked for [^]*(?=\.$)/.exec(sentence)?.[0]
  },
  overview: (_, profile, view) => [{
    order: 20,
    title: 'Timeline',
    column: 'main',
    value: renderSummary(profile, view, isFailure(profile) ? FEW_ROWS.failure : FEW_ROWS.success)
  }],
  comparison: [],
  style: readAsset(import.meta.url, './style.css')
}

/** The rows that explain most. */
function renderSummary (profile: Profile, view: PanelView, limit: number): SafeHtml {
  const spans = timelineOf(view.parts, profile)
  if (spans.length === 0) return noteText('Nothing was recorded.')
  const axis = axisOf(profile, spans)
  const rows = timelineRows(spans, axis.end)
  const all = rows.flatMap(withChildren)
  const shown = all.toSorted((a, b) => weightOf(b) - weightOf(a)).slice(0, limit)
  const left = all.length - shown.length
  const rest = html`<p class="note"><a href="${addressOf('timeline')}">${formatCount(left, 'more row')}</a></p>`
  return html`${waterfall(rows, shown, axis, view)}${left > 0 && rest}`
}

/** One page of the rows of the kinds that the query chooses. */
function renderPage (profile: Profile, view: PanelView): SafeHtml {
  const spans = timelineOf(view.parts, profile)
  if (spans.length === 0) return noteText('Nothing was recorded.')
  const chosen = [view.query.kind ?? []].flat().map(String)
  const axis = axisOf(profile, spans)
  const rows = rowsOfKinds(timelineRows(spans, axis.end), chosen)
  const all = rows.flatMap(withChildren)
  const page = Math.max(1, Math.trunc(Number(queryField(view, 'page'))) || 1)
  const first = Math.max(0, Math.min(page, Math.ceil(all.length / PAGE)) - 1) * PAGE
  const chart = waterfall(rows, all.slice(first, first + PAGE), axis, view)
  return html`${legend(spans, chosen, axis)}${chart}${pages(all.length, first, chosen)}`
}

/** The chosen rows, with those above them, as SVG: a strict policy forbids inline styles. */
function waterfall (rows: readonly Row[], chosen: readonly Row[], axis: Axis, view: PanelView): SafeHtml {
  const shown = new Set(chosen)
  const isShown = (row: Row): boolean => shown.has(row) || row.children.some(isShown)
  const items = (list: readonly Row[]): HtmlValue => {
    const visible = list.filter(isShown)
    return visible.length > 0 && html`<ol>${visible.map(item)}</ol>`
  }
  const item = (row: Row): SafeHtml => {
    const [{ color }] = row.entries as [Span]
    return html`<li class="bar-${color}">${rowItem(row, axis, view)}${items(row.children)}</li>`
  }
  const isLate = ({ entries }: Row): boolean => axis.isLate((entries as [Span])[0].start)
  const late = items(rows.filter(isLate))
  const title = presentItems([axis.lateTitle, isBroken(axis) && 'on another scale']).join(', ')
  const chart = [items(rows.filter((row) => !isLate(row))), late && [html`<h3>${title}</h3>`, late]]
  return html`
<div class="waterfall">${scale(axis)}${chart}</div>`
}

/** Rows of the chosen kinds, in the order of their start; those of other kinds are left out, not what is below them. */
function rowsOfKinds (rows: readonly Row[], chosen: readonly string[]): Row[] {
  if (chosen.length === 0) return [...rows]
  const startOf = ({ entries: [entry] }: Row): number => entry?.start ?? 0
  return rows.flatMap((row) => {
    const children = rowsOfKinds(row.children, chosen)
    return chosen.includes((row.entries[0] as Span).legend) ? [{ ...row, children }] : children
  }).sort((a, b) => startOf(a) - startOf(b))
}

function withChildren (row: Row): Row[] {
  return [row, ...row.children.flatMap(withChildren)]
}

/** Failures first, then what took longest; a handler is always of interest. */
function weightOf ({ entries }: Row): number {
  if (entries.some(({ failed, step }) => failed || step === 'handler')) return Number.MAX_VALUE
  return entries.reduce((sum, { duration, ofHindsight }) => sum + (ofHindsight === true ? -1 : duration ?? 1e9), 0)
}

type Axis = ReturnType<typeof axisOf>

/**
 * Where times are on the axis, in percent: `position` of a time of the application, `at` of a time since the request
 * arrived. The work after a response may take much longer than the request; the time in which Hindsight made its page
 * has no width.
 */
function axisOf (profile: Profile, spans: readonly Span[]) {
  const { firstByte, hindsightStart = 0, hindsight = 0 } = dataOf(profile, 'performance') as Record<string, number>
  const appTime = (time: number): number => Math.max(Math.min(time, hindsightStart), time - hindsight)
  const end = Math.max(profile.duration, 0.001)
  const total = Math.max(end, ...spans.map(({ start, duration }) => appTime(start + (duration ?? 0))))
  const main = Math.max(MAIN_WIDTH, end / total * 100)
  const position = (time: number): number => {
    if (time <= end || total === end) return Math.min(100, Math.max(0, time / end * main))
    return Math.min(100, main + (time - end) / (total - end) * (100 - main))
  }
  return {
    end,
    total,
    ready: numberOf(firstByte),
    lateTitle: afterTitle(profile),
    isLate: (time: number) => appTime(time) > end,
    position,
    at: (time: number) => position(appTime(time))
  }
}

function rowItem ({ entries, name }: Row, axis: Axis, view: PanelView): SafeHtml {
  const [entry] = entries as [Span]
  const { source, failed } = entry
  const isOfOneLine = entries.every((one) => one.source === source)
  const isMany = entries.length > 1
  const text = oneLine(name ?? ((isMany && entry.group) || entry.name))
  return html`<details><summary class="row${failed && ' failed'}"><span class="name"><span>\
${isMany && name === undefined && html`<b>${entries.length} ×</b> `}${cutText(text, MAX_NAME)}</span>\
${isOfOneLine && placeBeside(text, source)}</span><svg>${bars(entries, axis)}</svg>\
<span class="number">${rowTime(entries)}</span></summary>\
<div class="more">${isMany ? members(entries, view) : details(entry, view)}</div></details>`
}

/** How long a row took; where it took no time, when that was. */
function rowTime (entries: readonly Span[]): HtmlValue {
  if (entries.some(({ duration }) => duration === null)) return pendingTime(null)
  const time = timeOf(entries)
  return unbrokenUnits(time === 0 ? `at ${formatTime(entries[0]?.start)}` : formatTime(time))
}

/** A line of code, unless the text beside it has it. */
function placeBeside (text: string, source: Span['source']): HtmlValue {
  if (source == null) return null
  const { shown } = placeLink(lineOf(source), null)
  return !text.endsWith(shown) && html`<small><bdi>${shown}</bdi></small>`
}

function details (entry: Span, { editor }: PanelView): SafeHtml {
  const { name, start, detail, source, link } = entry
  return html`at ${formatTime(start)} \
${detail !== name && html`<code>${cutText(visibleLine(detail), MAX_DETAIL)}</code> `}\
${source != null && html`${placeElement(lineOf(source), editor)} `}<a href="${link}">Open</a>`
}

/** The entries of a row, each with its name where the names differ. */
function members (entries: readonly Span[], view: PanelView): SafeHtml {
  const [{ name, source }] = entries as [Span]
  const isSame = entries.every((one) => one.name === name)
  const where = isSame && source != null && html`<div>${placeElement(lineOf(source), view.editor)}</div>`
  const items = entries.slice(0, MAX_MEMBERS).map((entry) => {
    const text = isSame ? formatTime(entry.start) : cutText(visibleLine(entry.name), MAX_NAME)
    const line = !isSame && placeBeside(entry.name, entry.source)
    return html`<li><a href="${entry.link}">${text}</a> ${pendingTime(entry.duration)} ${line}</li>`
  })
  const more = entries.length - items.length
  return html`${where}<ul>${items}</ul>${more > 0 && noteText(`${formatCount(more, 'more entry', 'more entries')}.`)}`
}

/** The bars of a row; those that would touch each other are one bar. */
function bars (entries: readonly Span[], axis: Axis): SafeHtml[] {
  const shown: Array<{ from: number, to: number, failed: boolean }> = []
  for (const { start, duration, failed } of entries) {
    const from = Math.min(100 - MIN_WIDTH, axis.at(start))
    const to = Math.max(from + MIN_WIDTH, duration === null ? axis.position(axis.total) : axis.at(start + duration))
    const last = shown.at(-1)
    if (last !== undefined && last.failed === failed && from <= last.to) last.to = Math.max(last.to, to)
    else shown.push({ from, to, failed })
  }
  return shown.map(({ from, to, failed }) =>
    html`<rect${failed && html` class="bar-failed"`} x="${percent(from)}" width="${percent(to - from)}"/>`)
}

function percent (share: number): string {
  return `${Number(share.toFixed(2))}%`
}

/** Whether the time after the response has another scale. */
function isBroken ({ end, total, position }: Pick<Axis, 'end' | 'total' | 'position'>): boolean {
  return position(end) <= MAIN_WIDTH && total > end
}

/** Lines at 4 to 8 round times, and one where the response was ready. */
function scale ({ end, total, ready, position }: Axis): SafeHtml {
  const line = (time: number, name: string): SafeHtml =>
    html`<line class="${name}" x1="${percent(position(time))}" x2="${percent(position(time))}" y1="20" y2="100%"/>`
  const isLate = isBroken({ end, total, position })
  // Narrow charts have each second label, and none beside that of the end.
  const label = (time: number, text: string, i: number): SafeHtml => {
    const isMinor = i % 2 === 1 || (isLate && time <= end && position(time) > MAIN_WIDTH - MIN_LABEL)
    return html`<text${isMinor && html` class="minor"`} x="${percent(position(time))}" y="14">${text}</text>`
  }
  const magnitude = 10 ** Math.floor(Math.log10(end / 8))
  const step = magnitude * ([2, 5].find((factor) => end / (factor * magnitude) < 8) ?? 10)
  const textOf = (time: number, longest = end): string => {
    const [unit, size] = unitOf(longest)
    const number = time / size
    if (number === 0) return '0'
    return `${formatNumber(number, Number(number < 10))} ${unit}`
  }
  const ticks = Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => {
    return [line(i * step, 'tick'), label(i * step, textOf(i * step), i)]
  })
  const [from, width] = [percent(position(end)), percent(100 - position(end))]
  const change = html`<rect class="break" x="${from}" y="20" width="${width}"/>`
  const late = isLate && [change, line(total, 'tick'), label(total, textOf(total, total), 0)]
  return html`<svg class="scale" aria-hidden="true">${ticks}${ready !== null && line(ready, 'ready')}${late}</svg>`
}

/** The unit of the labels, in milliseconds. */
function unitOf (end: number): [unit: string, size: number] {
  if (end < 1) return ['µs', 0.001]
  if (end < 999.5) return ['ms', 1]
  return ['s', 1_000]
}

/** The kinds of entries with their colors: links that add or remove a kind among those that are shown. */
function legend (spans: readonly Span[], chosen: readonly string[], { ready }: Axis): SafeHtml {
  const link = (kinds: readonly string[], isCurrent: boolean, content: HtmlValue): SafeHtml =>
    html`<a href="${address(kinds)}"${isCurrent && html` aria-current="true"`}>${content}</a>`
  const links = [...new Set(spans.map((span) => span.legend))].map((name) => {
    const [{ color }, ...others] = spans.filter((span) => span.legend === name) as [Span]
    const isChosen = chosen.includes(name)
    const kinds = isChosen ? chosen.filter((one) => one !== name) : [...chosen, name]
    return link(kinds, isChosen, html`<svg class="bar-${color}" viewBox="0 0 10 10" aria-hidden="true">\
<rect width="10" height="10"/></svg>${name} <small>${formatInteger(others.length + 1)}</small>`)
  })
  const line = ready !== null &&
    html`<span><svg viewBox="0 0 10 10" aria-hidden="true"><line class="ready" x1="5" x2="5" y2="10"/></svg> \
response ready ${formatTime(ready)}</span>`
  return html`<nav class="legend" aria-label="Kinds">${link([], chosen.length === 0, 'All')}${links}${line}</nav>`
}

function address (kinds: readonly string[], page = 1): string {
  const query = new URLSearchParams([['panel', 'timeline'], ...kinds.map((kind) => ['kind', kind])])
  if (page > 1) query.set('page', String(page))
  return `?${query}`
}

function pages (count: number, first: number, chosen: readonly string[]): HtmlValue {
  if (count === 0) return noteText('There are no entries of these kinds.')
  if (count <= PAGE) return null
  const links = Array.from({ length: Math.ceil(count / PAGE) }, (_, i) => {
    if (i * PAGE === first) return html`<strong>${i + 1}</strong> `
    return html`<a href="${address(chosen, i + 1)}">${i + 1}</a> `
  })
  return html`<nav class="pages" aria-label="Pages">Rows ${formatInteger(first + 1)} to \
${formatInteger(Math.min(count, first + PAGE))} of ${formatInteger(count)}. Page ${links}</nav>`
}
