import { relative } from 'node:path'
import type { EditorLink } from '../../view/editor.js'
import { html } from '../../view/html.js'
import { safeJson } from '../../view/json.js'
import type { PageOptions } from './layout/component.js'

const MAX_OPEN = 8_000

/** A part of a panel under a heading of its own. */
export function section (title: string, content: string, id = ''): string {
  return html`<section class="part"!${id === '' ? '' : html` id="${id}"`}><h3>${title}</h3>!${content}</section>`
}

/** The same on a page that has no panels: its heading is right below that of the page. */
export function chapter (title: string, content: string, id = ''): string {
  return html`<section class="part"!${id === '' ? '' : html` id="${id}"`}><h2>${title}</h2>!${content}</section>`
}

/** A remark in place of content. */
export function note (text: string): string {
  return html`<p class="note">${text}</p>`
}

/** What matters most in a panel, said first. */
export function lead (text: string, mood: 'good' | 'bad' | 'plain' = 'plain'): string {
  return html`<p class="lead !${mood}">${text}</p>`
}

/** Says that there is nothing to show because a collector failed. */
export function failed (message: string): string {
  return html`<p class="failure"><strong>The collector failed:</strong> ${message}</p>`
}

/** Names and values as a table; data that is not flat is shown as JSON. */
export function pairs (label: string, data: unknown, empty = 'None.'): string {
  const entries = entriesOf(data)
  if (entries.length === 0) return note(empty)
  return html`<table class="pairs" aria-label="${label}"><tbody>!${entries.map(([name, value]) =>
    html`<tr><th scope="row">${name}</th><td>!${scalar(value)}</td></tr>`)}</tbody></table>`
}

/** Objects of one kind as a table: the columns by the name of their field. */
export function rows (label: string, columns: Readonly<Record<string, string>>, data: ReadonlyArray<Record<string, unknown>>, empty = 'None.'): string {
  if (data.length === 0) return note(empty)
  return scrollable(label, html`<table aria-label="${label}"><thead><tr>!${Object.values(columns).map(title =>
    html`<th scope="col">${title}</th>`)}</tr></thead><tbody>!${data.map(row =>
    html`<tr>!${Object.keys(columns).map(name => html`<td>!${row[name] === null || row[name] === undefined ? '' : scalar(row[name])}</td>`)}</tr>`)}</tbody></table>`)
}

/** Any value as text, indented where it is nested. */
export function json (value: unknown): string {
  return html`<pre class="data">${typeof value === 'string' ? value : safeJson(value, 2)}</pre>`
}

/** The same, folded where it is long. */
export function folded (label: string, value: unknown): string {
  const markup = json(value)
  return markup.length <= MAX_OPEN ? markup : fold(`${label}, ${bytes(markup.length)} of text`, markup)
}

/** Content that is unfolded by who wants it. */
export function fold (label: string, content: string, count?: number): string {
  return html`<details><summary>${label}!${count === undefined ? '' : html` <span class="count">${count}</span>`}</summary>!${content}</details>`
}

/** Lets what is wider than the window be scrolled, by keyboard too. */
export function scrollable (label: string, content: string): string {
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">!${content}</div>`
}

/** A place in source, `file:line`: from where the process was started on, and a link where an editor is known. */
export function place (source: string, editor: EditorLink | null): string {
  const [, file = source, line = '1'] = /^(.*):(\d+)$/.exec(source) ?? []
  const near = relative(process.cwd(), file)
  const shown = near.startsWith('..') || near === '' ? source : source.replace(file, near)
  const href = editor?.(file, Number(line), 1) ?? null
  return href === null ? html`<code title="${source}">${shown}</code>` : html`<a href="${href}" title="${source}"><code>${shown}</code></a>`
}

/** The status of a response, coloured by its class. */
export function statusBadge (status: number): string {
  return html`<span class="status status-!${statusClass(status)}">${status}</span>`
}

/** The class of a status (RFC 9110, section 15): 1 to 5; 0 for what is none. */
export function statusClass (status: unknown): string {
  const first = Math.trunc(Number(status) / 100)
  return first >= 1 && first <= 5 ? String(first) : '0'
}

/** A moment for people; with `now` (ms) how long ago it is, the moment itself as a title. */
export function moment (time: string, now?: number): string {
  const readable = String(time).replace('T', ' ').replace('Z', ' UTC')
  const then = Date.parse(time)
  if (now === undefined || Number.isNaN(then)) return html`<time datetime="${time}">${readable}</time>`
  return html`<time class="ago" datetime="${time}" title="${readable}">${ago(now - then)}</time>`
}

/** Where a form of pinning stands: beside one profile, or in the list whose fields `back` brings again. */
export interface PinPlace {
  token: string
  pinned: boolean
  back?: string
}

/** The form that keeps a profile from being evicted, or no longer. */
export function pinForm ({ base, formToken }: Pick<PageOptions, 'base' | 'formToken'>, { token, pinned, back }: PinPlace): string {
  return html`<form method="post" action="${base}/${token}/pin" class="pin-form"><input type="hidden" name="form_token" value="${formToken}">!${
    back === undefined
      ? html`<span class="note">${pinned ? 'Pinned: it stays until you unpin it.' : 'A pinned profile is not evicted.'}</span>`
      : html`<input type="hidden" name="back" value="${back}">`
  }<button type="submit" name="pinned" value="${pinned ? '0' : '1'}"!${pinned ? ' class="is-pinned"' : ''}>${pinned ? 'Unpin' : 'Pin'}!${
    back === undefined ? '' : html` <span class="hidden-visually">${token}</span>`}</button></form>`
}

/** Milliseconds for people. */
export function milliseconds (value: unknown): string {
  if (typeof value !== 'number' || !Number.isFinite(value)) return '–'
  return `${value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 })} ms`
}

/** Bytes for people. */
export function bytes (value: unknown): string {
  if (typeof value !== 'number' || !Number.isFinite(value)) return '–'
  const [size, unit] = value < 10_000 ? [value, 'bytes'] : value < 1e6 ? [value / 1e3, 'kB'] : value < 1e9 ? [value / 1e6, 'MB'] : [value / 1e9, 'GB']
  return `${size.toLocaleString('en', { maximumFractionDigits: 1 })} ${unit}`
}

function ago (ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h ago` : `${Math.floor(seconds / 86_400)} d ago`
}

function entriesOf (data: unknown): Array<[string, unknown]> {
  if (typeof data !== 'object' || data === null) return []
  // Headers are also written as pairs, which keep their order and their repetitions.
  if (Array.isArray(data)) {
    return data.map((item, i) => Array.isArray(item) && item.length === 2 ? [String(item[0]), item[1]] : [String(i), item])
  }
  return Object.entries(data)
}

function scalar (value: unknown): string {
  if (value === null || value === undefined) return html`<span class="none">null</span>`
  if (Array.isArray(value) && value.every(item => typeof item === 'string')) {
    return value.length === 0 ? html`<span class="none">none</span>` : value.map(item => html`<div>${item}</div>`).join('')
  }
  if (typeof value === 'object') return json(value)
  return value === '' ? html`<span class="none">empty</span>` : html`${String(value)}`
}
