import { isAbsolute, relative, resolve } from 'node:path'
import {
  formatCount, formatInteger, html, formatNumber, safeJson, unbrokenUnits, visibleLine, wordFor, type HtmlValue,
  type SafeHtml
} from './text.js'
import { roundTime } from '../clock.js'
import type { EditorLink } from './editor.js'

/** A titled part of a panel; `level` is the level of its heading: 3 below a panel's title, 2 below a page's. */
export function titledSection (title: string, content: HtmlValue, id = '', level: 2 | 3 = 3): SafeHtml {
  const attribute = id !== '' && html` id="${id}"`
  return html`<section class="part"${attribute}><h${level}>${title}</h${level}>${content}</section>`
}

/** A muted paragraph, also shown instead of missing content. */
export function noteText (text: string): SafeHtml {
  return html`<p class="note">${unbrokenUnits(text)}</p>`
}

/** The main statement of a panel. */
export function leadText (
  text: string, mood: 'good' | 'bad' | 'plain' | 'warn' = 'plain', editor: EditorLink | null = null
): SafeHtml {
  return html`<p class="lead ${mood}">${withPlaces(text, editor)}</p>`
}

/** The error of a collector, or of a panel. */
export function failureNote (what: 'collector' | 'panel', message: string): SafeHtml {
  return html`<p class="failure"><strong>The ${what} failed:</strong> ${message}</p>`
}

/** Names and values as a table; nested data as JSON. */
export function pairsTable (label: string, data: unknown, empty = 'None.'): SafeHtml {
  const entries = Object.entries(typeof data === 'object' && data !== null ? data : {}) as Array<[string, unknown]>
  if (entries.length === 0) return noteText(empty)
  return html`<table class="pairs" aria-label="${label}"><tbody>${entries.map(([name, value]) =>
    html`<tr><th scope="row">${name}</th><td>${cell(value)}</td></tr>`)}</tbody></table>`
}

/** A part of a panel that is a table of names and values. */
export function pairsSection (title: string, data: unknown, empty?: string): SafeHtml {
  return titledSection(title, pairsTable(title, data, empty))
}

/** An object's fields: plain values as a table with the names of the fields in words, then a part for each object. */
export function fieldsContent (title: string, data: Readonly<Record<string, unknown>>): HtmlValue {
  const plain: Record<string, unknown> = {}
  const parts: SafeHtml[] = []
  for (const [name, value] of Object.entries(data)) {
    const label = name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      parts.push(pairsSection(label.charAt(0).toUpperCase() + label.slice(1), value))
    } else if (typeof value === 'boolean') plain[label] = value ? 'yes' : 'no'
    else plain[label] = name === 'duration' ? formatTime(value) : value ?? 'none'
  }
  return [pairsSection(title, plain), ...parts]
}

/** A part of a panel that is a table with a row for each object; `columns` are titles by field. */
export function rowsSection (
  title: string,
  columns: Readonly<Record<string, string>>,
  data: ReadonlyArray<Readonly<Record<string, unknown>>>,
  empty = 'None.'
): SafeHtml {
  if (data.length === 0) return titledSection(title, noteText(empty))
  return titledSection(title, rowsTable(title, columns, data))
}

/** A table with a row for each object; `columns` are titles by field. */
export function rowsTable (
  label: string, columns: Readonly<Record<string, string>>, data: ReadonlyArray<Readonly<Record<string, unknown>>>
): SafeHtml {
  return markupTable(label, Object.values(columns), data.map((row) => html`<tr>${Object.keys(columns).map((name) =>
    html`<td>${row[name] != null && cell(row[name])}</td>`)}</tr>`))
}

/** A table of rows, or of groups of rows, that are markup; a column in brackets is numeric. */
export function markupTable (
  label: string,
  columns: ReadonlyArray<string | SafeHtml | readonly [numeric: string | SafeHtml]>,
  rows: HtmlValue,
  className = ''
): SafeHtml {
  const heads = columns.map((column) => {
    if (column instanceof Array) return html`<th scope="col" class="number">${column[0]}</th>`
    return html`<th scope="col">${column}</th>`
  })
  return scrollRegion(label, html`<table class="${className}" aria-label="${label}"><thead><tr>${heads}</tr></thead>\
<tbody>${rows}</tbody></table>`)
}

/** A table of calls or spans; `count` is the number of all, of which the first are recorded. */
export function entryTable (label: string, second: string, rows: readonly SafeHtml[], count: unknown): HtmlValue {
  if (rows.length === 0) return noteText('None was recorded.')
  const more = Number(count) - rows.length
  return [
    markupTable(label, ['Name', second, 'Timeline', ['Start'], ['Duration']], rows, 'rows entries'),
    more > 0 && noteText(`${formatCount(more, 'more was', 'more were')} only counted.`)
  ]
}

/** A row of such a table; `second` is the markup of the second column, `total` the duration of the request. */
export function entryRow (
  id: string,
  name: string,
  { start, duration, error }: Readonly<Record<string, unknown>>,
  second: HtmlValue,
  details: HtmlValue,
  { isFailed, total, color }: { isFailed: boolean, total: number, color: string }
): SafeHtml {
  const failure = error !== undefined && html`<div class="failure">${String(error) || 'failed'}</div>`
  return html`<tr id="${id}"${isFailed && html` class="has-problem"`}>
<td class="text">${visibleLine(name)}${failure}<div class="entry">${details}</div></td>
<td>${second}</td><td>${barOf(start, duration, total, color)}</td>
<td class="number">${formatTime(start)}</td><td class="number">${pendingTime(duration)}</td></tr>`
}

/** The time of an entry as a part of that of its request; to the end without a duration. */
function barOf (start: unknown, duration: unknown, total: number, color: string): HtmlValue {
  if (typeof start !== 'number' || start > total) return null
  const width = Math.max(1, Math.min(100 * Number(duration ?? total) / total, 100 - 100 * start / total))
  return html`<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">\
<rect class="bar-${color}" x="${roundTime(100 * start / total)}" width="${roundTime(width)}" height="10"/></svg>`
}

/** Text as it is, other values as indented JSON. */
export function jsonBlock (value: unknown): SafeHtml {
  return html`<pre class="data">${typeof value === 'string' ? value : safeJson(value, 2)}</pre>`
}

/** Content that is hidden until its label is activated. */
export function foldedContent (label: string, content: HtmlValue): SafeHtml {
  return html`<details><summary>${label}</summary>${content}</details>`
}

/** A region that scrolls horizontally, by keyboard too. */
export function scrollRegion (label: string, content: HtmlValue): SafeHtml {
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">${content}</div>`
}

/** A place in source (`file:line`), relative to the working directory, as a link if there is an editor. */
export function placeElement (source: string, editor: EditorLink | null): SafeHtml {
  const { shown, href } = placeLink(source, editor)
  if (href === null) return html`<code title="${source}">${shown}</code>`
  return html`<a href="${href}" title="${source}"><code>${shown}</code></a>`
}

/** A place in source as text, and the URL that opens it in the editor. */
export function placeLink (source: string, editor: EditorLink | null): { shown: string, href: string | null } {
  const [, file = source, line = '1'] = /^(.*):(\d+)$/.exec(source) ?? []
  // A bundler may have named it, such as `webpack://shop/src/a.ts`.
  const near = isAbsolute(file) ? relative(process.cwd(), file) : ''
  const shown = near.startsWith('..') || near === '' ? source : source.replace(file, near)
  return { shown, href: editor?.(file, Number(line), 1) ?? null }
}

/** A sentence whose places in the application, such as `src/cart.js:20`, open in the editor. */
export function withPlaces (sentence: string, editor: EditorLink | null): SafeHtml {
  // From the beginning of a path only: a long path would take quadratic time.
  const parts = unbrokenUnits(sentence).split(/(?<![\w./:-])([\w./-]+\.[cm]?[jt]sx?:\d+)\b/)
  return html`${parts.map((part, i) => i % 2 === 0 ? part : placeElement(resolve(part), editor))}`
}

/** A finding, in which places are links and what is between backticks is code. */
export function withCode (finding: string, editor: EditorLink | null): SafeHtml {
  const parts = finding.split(/`([^`]+)`/)
  return html`${parts.map((part, i) => i % 2 === 0 ? withPlaces(part, editor) : html`<code>${part}</code>`)}`
}

/** A status code, colored by its class; 0: no response was sent. */
export function statusBadge (status: number, outcome?: string, hasFailed = false): SafeHtml {
  const color = statusClass(statusOf(status, outcome, hasFailed))
  return html`<span class="status status-${color}">${statusText(status, outcome)}</span>`
}

/** A status, or the outcome of a job. */
export function statusText (status: number, outcome?: string): string {
  return outcome ?? String(status || 'no response')
}

/**
 * A status whose color the outcome of a job or of a response that was cut off has; that of a request has its own.
 * `hasFailed`: one below 400 has not the color of a success, as there was an error, such as one after the response.
 */
export function statusOf (status: number, outcome?: string, hasFailed = false): number {
  let shown = status
  if (outcome === 'done') shown = 200
  else if (outcome !== undefined && outcome !== 'running') shown = 500
  if (hasFailed) return Math.max(400, shown)
  return shown
}

/** The class of a status code (RFC 9110, section 15): 1 to 5; 0 for other values. */
export function statusClass (status: unknown): string {
  const first = Math.trunc(Number(status) / 100)
  return first >= 1 && first <= 5 ? String(first) : '0'
}

/** The path and query of a URL of the application. */
export function pathOf (url: string): string {
  return url.replace(/^https?:\/\/[^/]*(?=\/)/, '')
}

/** A time (ISO 8601). */
export function timeElement (time: string): SafeHtml {
  return html`<time datetime="${time}">${String(time).replace('T', ' ').replace('Z', ' UTC')}</time>`
}

/** The age of something that happened at a time (ISO 8601), with the time as a tooltip. */
export function ageElement (time: string): SafeHtml {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000))
  if (Number.isNaN(seconds)) return timeElement(time)
  return html`<time datetime="${time}" title="${time}">${ageText(seconds)} ago</time>`
}

function ageText (seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** A select element with its label; `options` are texts by value. */
export function selectElement (
  label: string, name: string, options: ReadonlyArray<readonly [value: string, text: string]>, selected: string
): SafeHtml {
  const items = options.map(([value, text]) =>
    html`<option value="${value}"${value === selected && ' selected'}>${text}</option>`)
  return html`<label><span>${label}</span> <select name="${name}">${items}</select></label>`
}

/** A form that changes something. */
export function postForm (action: string, formToken: string, content: HtmlValue, className = ''): SafeHtml {
  return html`<form method="post" action="${action}" class="${className}" autocomplete="off">\
<input type="hidden" name="form_token" value="${formToken}">${content}</form>`
}

/** A number with its word, which narrow toolbars leave out. */
export function countedLabel (count: number, word: string): SafeHtml {
  return html`${count} <span class="label">${wordFor(count, word)}</span>`
}

/** Milliseconds from which a duration is in seconds, so that none is 1,000 ms, and in minutes. */
const SECONDS = 999.5
const MINUTES = 120_000

/** Formats a duration (milliseconds); a short one in microseconds, a long one in seconds or minutes. */
export function formatTime (value: unknown): string {
  if (typeof value !== 'number' || !Number.isFinite(value)) return '–'
  const microseconds = Math.round(value * 1000)
  if (microseconds === 0) return '< 1 µs'
  if (Math.abs(microseconds) < 1000) return `${microseconds} µs`
  const seconds = Math.round(value / 1000)
  if (value >= MINUTES) return `${formatInteger(Math.floor(seconds / 60))} min ${seconds % 60} s`
  if (value >= 10 * SECONDS) return `${formatNumber(value / 1000, 1)} s`
  if (value >= SECONDS) return `${formatNumber(value / 1000, 2)} s`
  if (value < 10) return `${formatNumber(value, 2)} ms`
  if (value < 100) return `${formatNumber(value, 1)} ms`
  return `${formatNumber(value, 0)} ms`
}

/** The duration of something that may not have ended. */
export function pendingTime (duration: unknown): HtmlValue {
  if (duration === null) return html`<span class="none">pending</span>`
  return unbrokenUnits(formatTime(duration))
}

/**
 * Formats a size: bytes below 1,000, as in `570 bytes`, otherwise one decimal, as in `3.6 kB` (1,000 bytes). All sizes
 * are written so, except exact numbers of bytes that are left out of data or stand in place of it, as in
 * `[binary, 3612 bytes]`, and a limit that is an option of Fastify.
 */
export function formatSize (value: unknown): string {
  if (typeof value !== 'number' || !Number.isFinite(value)) return '–'
  if (value < 1e3) return `${formatNumber(value, 0)} bytes`
  if (value < 1e6) return `${formatNumber(value / 1e3, 1)} kB`
  if (value < 1e9) return `${formatNumber(value / 1e6, 1)} MB`
  return `${formatNumber(value / 1e9, 1)} GB`
}

function cell (value: unknown): HtmlValue {
  if (value === null || value === undefined) return html`<span class="none">null</span>`
  if (value === '') return html`<span class="none">empty</span>`
  if (Array.isArray(value) && value.length === 0) return html`<span class="none">none</span>`
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    return value.map((item) => html`<div>${item}</div>`)
  }
  if (typeof value === 'object') return jsonBlock(value)
  return String(value)
}
