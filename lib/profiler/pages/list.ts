import { counted } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { DEFAULT_LIMIT } from '../search-query.js'
import type { StorageStats } from '../storage/storage.js'
import type { ProfileSummary } from '../summary.js'
import type { WriteCounters } from '../write-queue.js'
import { bytes, milliseconds, moment, note, pinForm, postForm, scrollable, select, statusBadge } from './components.js'
import { layout, type PageOptions } from './layout.js'

/** The fields of a search, as in the query. */
export type Fields = Readonly<Record<string, string>>

/** The result of a search, or why it failed. */
export interface SearchResult {
  fields: Fields
  problem?: string
  /** Newest first. */
  profiles: readonly ProfileSummary[]
  /** The cursor of the next page; null: this is the last. */
  next: string | null
  stats?: StorageStats
  counters?: Readonly<WriteCounters>
  /** The reason of the last lost profile. */
  lastLoss?: string
  /** Milliseconds since the epoch. */
  now: number
}

/** The text fields of the form: label and placeholder by name. */
const TEXT_FIELDS: Readonly<Record<string, readonly [label: string, placeholder?: string]>> = {
  url: ['URL contains'],
  status: ['Status', '404 or 4xx'],
  method: ['Method'],
  exception: ['Exception contains'],
  route: ['Route', '* for any part'],
  ip: ['IP address', 'address or CIDR'],
  min_duration: ['Min. duration (ms)'],
  from: ['From', '2026-01-31T12:00'],
  until: ['Until', 'UTC'],
  token: ['Token'],
  parent: ['Parent request', 'token']
}
const OUTCOMES = [['', 'All'], ['1', 'Failures'], ['0', 'Successes']] as const
const LIMITS = ['20', '50', '100', '500'].map((limit) => [limit, limit] as const)
/** Fields that are no criteria. */
const DISPLAY_FIELDS = new Set(['limit', 'cursor'])

/** The list of stored profiles that match a search, newest first. */
export function searchPage (result: SearchResult, options: PageOptions): string {
  const { fields, problem, profiles, next, stats } = result
  const isSearch = criteriaOf(fields).length > 0
  const title = isSearch ? 'Search' : 'Profiles'
  const controls = problem === undefined ? live(fields, options) + compareForm(options) : ''
  const empty = isSearch
    ? 'No profiles match.'
    : 'No request has been profiled yet. Send one to the application, then load this page again.'
  const content = problem === undefined
    ? table(result, options) + (profiles.length === 0 ? html`<div class="empty">!${note(empty)}</div>` : '')
    : html`<p class="failure" role="alert">${problem}</p>`
  return layout(options, title, html`<main id="content">
<div class="title-row"><h1>${title}</h1>!${controls}</div>
!${searchForm(fields, options, isSearch || problem !== undefined)}
!${losses(result)}
!${content}
!${pagination(fields, next, options)}
!${stats === undefined ? '' : html`<div class="stats">!${note(statsText(stats))}!${purgeForm(fields, options)}</div>`}
</main>`)
}

/** The fields that select profiles. */
function criteriaOf (fields: Fields): Array<[string, string]> {
  return Object.entries(fields).filter(([name, value]) => value !== '' && !DISPLAY_FIELDS.has(name))
}

/** The query of a search, without fields that are empty or the default. */
function queryOf (fields: Fields): string {
  return String(new URLSearchParams(Object.entries(fields)
    .filter(([name, value]) => value !== '' && !(name === 'limit' && value === String(DEFAULT_LIMIT)))))
}

// Only the page of the newest profiles can be live.
function live (fields: Fields, { base }: PageOptions): string {
  if (fields.cursor) return ''
  const query = String(new URLSearchParams(criteriaOf(fields)))
  return html`<p class="live" data-stream="${base}/stream?${query}" hidden>
<span class="live-state" role="status"></span> <button type="button" aria-pressed="true">Live</button></p>`
}

// The check boxes of the rows belong to this form.
function compareForm ({ base }: PageOptions): string {
  return html`<form method="get" action="${base}/compare" id="compare">
<button type="submit" aria-describedby="compare-how">Compare</button>
<span class="note" id="compare-how">the two selected</span></form>`
}

function searchForm (fields: Fields, { base }: PageOptions, isOpen: boolean): string {
  const texts = Object.entries(TEXT_FIELDS).map(([name, [label, placeholder = '']]) =>
    html`<label><span>${label}</span> <input type="text" name="${name}" value="${fields[name] ?? ''}" ` +
    html`placeholder="${placeholder}" autocomplete="off" spellcheck="false"></label>`)
  return html`<details class="search"!${isOpen ? ' open' : ''}><summary>Search</summary>
<form method="get" action="${base}/search" role="search">
!${texts}
!${select('Outcome', 'error', OUTCOMES, fields.error ?? '')}
!${select('Results per page', 'limit', LIMITS, fields.limit ?? String(DEFAULT_LIMIT))}
<div class="actions"><button type="submit">Search</button> <a href="${base}/">Reset</a></div>
</form></details>`
}

function losses ({ counters, lastLoss = '' }: SearchResult): string {
  const { dropped = 0, failed = 0 } = counters ?? {}
  if (dropped + failed === 0) return ''
  const lost = counted(dropped + failed, 'profile of this process was', 'profiles of this process were')
  const last = lastLoss === '' ? 'See the log for the reason.' : `Last reason: ${lastLoss}`
  return html`<p class="failure">${lost} lost: ${dropped} because the queue was full, ` +
    html`${failed} because the store or their data failed. ${last}</p>`
}

function table ({ profiles, fields, now }: SearchResult, options: PageOptions): string {
  const back = queryOf(fields)
  const hidden = profiles.length === 0 ? ' hidden' : ''
  return scrollable('Stored profiles', html`<table class="rows profiles"!${hidden}><thead><tr><th scope="col">Token</th>
<th scope="col">Status</th><th scope="col">Method</th><th scope="col">URL</th>
<th scope="col" class="number">Duration</th><th scope="col">IP address</th><th scope="col">Time</th>
<th scope="col"><span class="hidden-visually">Pin</span></th>
</tr></thead><tbody>!${profiles.map((profile) => row(profile, options, back, now))}</tbody></table>`)
}

function row (profile: ProfileSummary, options: PageOptions, back: string, now: number): string {
  const { token, status, error, warnings, pinned, method, url, duration, ip, time } = profile
  const mark = error ? ' class="has-problem"' : warnings > 0 ? ' class="has-warning"' : ''
  const pin = '<span class="pin" title="pinned"><span aria-hidden="true">★</span>' +
    '<span class="hidden-visually"> pinned</span></span>'
  return html`<tr!${mark}>
<th scope="row"><input type="checkbox" name="profile" value="${token}" form="compare" aria-label="Compare ${token}">` +
    html`<a href="${options.base}/${token}">${token}</a>!${pinned ? pin : ''}</th>
<td>!${statusBadge(status)}!${error ? '<span class="hidden-visually"> failed</span>' : ''}</td>
<td>${method}</td><td class="text">${visibleLine(url)}!${remarks(profile)}</td>
<td class="number">${milliseconds(duration)}</td><td>${ip}</td>
<td>!${moment(time, now)}</td><td>!${pinForm(options, { token, pinned, back })}</td></tr>`
}

function remarks ({ exception, warnings, parent }: ProfileSummary): string {
  const remark = exception !== null
    ? html`<div class="exception-line">${visibleLine(exception)}</div>`
    : warnings > 0 ? html`<div class="warning-line">${counted(warnings, 'warning')} logged</div>` : ''
  if (parent === null || parent === undefined) return remark
  return remark + html`<div class="parent-line">sub-request of <code>${parent}</code></div>`
}

function pagination (fields: Fields, next: string | null, { base }: PageOptions): string {
  if (next === null && !fields.cursor) return ''
  const { cursor: _, ...first } = fields
  const newest = html`<a href="${base}/search?${queryOf(first)}">Newest profiles</a> `
  const query = queryOf({ ...fields, cursor: next ?? '' })
  const older = html`<a rel="next" href="${base}/search?${query}">Older profiles</a>`
  return html`<nav class="pages" aria-label="Pages">!${fields.cursor ? newest : ''}!${next === null ? '' : older}</nav>`
}

function statsText ({ engine, place, profiles, maxProfiles, failures, pinned, ...stats }: StorageStats): string {
  const where = engine === 'memory' ? 'the memory of this process' : `the ${engine} store at ${place}`
  return `${profiles.toLocaleString('en')} of at most ${counted(maxProfiles, 'profile')}, ` +
    `${bytes(stats.bytes)} of ${bytes(stats.maxBytes)}: ${counted(failures, 'failure')}, ` +
    `${pinned.toLocaleString('en')} pinned. Stored in ${where}.`
}

// Folded, with a description and a required check box, against accidental use.
function purgeForm (fields: Fields, { base, formToken }: PageOptions): string {
  const criteria = criteriaOf(fields)
  const search = criteria.map(([name, value]) => `${name} ${value}`).join(', ')
  const what = criteria.length === 0 ? 'all profiles' : `all profiles that match this search (${search})`
  const inputs = criteria.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
  return html`<details class="purge"><summary>Purge…</summary>!${postForm(`${base}/purge`, formToken, html`!${inputs}
<p>This removes ${what}, except pinned ones. It cannot be undone.</p>
<label><input type="checkbox" required> Remove them</label>
<button type="submit" class="danger">Purge</button>`)}</details>`
}
