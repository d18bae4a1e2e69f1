import { isDeepStrictEqual } from 'node:util'
import { counted, visibleLine } from '../../view/visible.js'
import { html } from '../../view/html.js'
import type { Criteria } from '../../store/criteria.js'
import { DEFAULT_LIMIT, PART_CRITERIA, readSearch } from '../../store/search-query.js'
import type { ProfilePage, StorageStats } from '../../store/storage.js'
import { isFollow, isNoise, type ProfileSummary } from '../../store/profile.js'
import type { WriteCounters } from '../../store/write-queue.js'
import { age, bytes, milliseconds, note, scrollable, select, statusBadge } from '../../view/components.js'
import type { WaitingRequest } from '../../recording/waiting.js'
import { layout, pageLink, type PageOptions } from './layout.js'

/** The fields of a search, as in the query. */
export type Fields = Readonly<Record<string, string>>

/** The result of a search, or why it failed. */
export interface SearchResult extends Partial<Pick<ProfilePage, 'profiles' | 'next'>> {
  fields?: Fields
  /** What the fields select; absent where the search failed. */
  criteria?: Criteria
  /** The criteria of the parts of the application. */
  own?: readonly string[]
  problem?: string
  stats?: StorageStats
  counters?: Readonly<WriteCounters>
  /** Why the last lost profile was lost. */
  lastLoss?: string
  /** The address of the page that could not be read. */
  retry?: string
  /** Requests that have not ended. */
  waiting?: readonly WaitingRequest[]
  /** The form that changes what is traced of them, as markup. */
  traceForm?: string
}

/** The text fields of the form: label and placeholder by name. */
const TEXT_FIELDS: Readonly<Record<string, readonly [label: string, placeholder?: string]>> = {
  url: ['URL contains'],
  status: ['Status', '404 or 4xx'],
  method: ['Method'],
  exception: ['Exception contains'],
  route: ['Route', '* for any part'],
  ip: ['IP address', '127.0.0.1'],
  min_duration: ['Min. duration (ms)'],
  from: ['From', '2026-01-31T12:00'],
  until: ['Until', 'UTC'],
  token: ['Token'],
  parent: ['Parent request', 'token']
}
const OUTCOMES = [['', 'All'], ['1', 'Failures'], ['0', 'Successes']] as const
const LIMITS = ['20', '50', '100', '500'].map((limit) => [limit, limit] as const)
/** The titles of columns of parts, by the names of their values. */
const COLUMNS = Object.entries(PART_CRITERIA)
  .flatMap(([name, { column }]): Array<[string, string]> => column === undefined ? [] : [[name, column]])
/** Fields that do not select profiles. */
const DISPLAY_FIELDS = new Set(['sort', 'limit', 'cursor'])
const DEFAULTS: Fields = { limit: String(DEFAULT_LIMIT), sort: '-time' }
/** The fields of the presets, by the text of their links. */
const PRESETS: Readonly<Record<string, Fields>> = {
  All: {},
  Failures: { error: '1' },
  '5xx': { q: 'status:5xx' },
  Slow: { q: 'slow:>200ms' },
  'Last hour': { q: 'from:1h' }
}
/** Milliseconds that the beginnings of equal periods may differ: an age is relative to the time of its search. */
const SAME_PERIOD = 60_000
/** Maximum characters of markup of a URL or an exception, so that a list of 50 has less than 40 kB. */
const MAX_TEXT = 60

/** What a profile has in addition to a request that has not ended. */
const OPEN = { status: 0, ip: '', error: false, exception: null, warnings: 1, parent: null, pinned: false }
/** Sentences of one request. */
const MAX_REASONS = 3

/** The list of stored profiles that match a search. */
export function searchPage (result: SearchResult, options: PageOptions): string {
  const { fields = {}, criteria, problem, profiles = [], next = null, stats, waiting = [], traceForm = '' } = result
  const retry = result.retry && html` <a href="${result.retry}">Try again</a>`
  const preset = Object.values(PRESETS).find((preset) => criteria !== undefined && selectsSame(criteria, preset))
  const current = preset === undefined ? '' : presetLink(preset, options.base)
  const isSearch = criteriaOf(fields).length > 0
  const title = isSearch ? 'Search' : 'Profiles'
  const controls = problem === undefined ? liveControl(fields, options) + compareForm(options) : ''
  const empty = isSearch
    ? 'No profiles match.'
    : 'No request has been profiled yet. Send one to the application, then load this page again.'
  const content = problem === undefined
    ? traceForm + table(result, fields, options) +
      (profiles.length + waiting.length === 0 ? html`<div class="empty">!${note(empty)}</div>` : '')
    : html`<p class="failure" role="alert">${problem}!${retry ?? ''}</p>`
  return layout(options, title, html`<main id="content">
<div class="title-row"><h1>${title}</h1>!${controls}</div>
!${searchForm(result, current, options)}
<div class="results">!${lossNotice(result)}
!${content}
!${pagination(fields, next, options)}
!${stats === undefined ? '' : html`<div class="stats">!${note(statsText(stats))}</div>`}
</div></main>`, profiles[0]?.status, current)
}

/** The fields that select profiles. */
function criteriaOf (fields: Fields): Array<[string, string]> {
  return Object.entries(fields).filter(([name, value]) => value !== '' && !DISPLAY_FIELDS.has(name))
}

/** The query of a search, without fields that are empty or the default. */
function queryOf (fields: Fields): string {
  return String(new URLSearchParams(Object.entries(fields)
    .filter(([name, value]) => value !== '' && value !== DEFAULTS[name])))
}

// Only the page of the newest profiles can be live.
function liveControl (fields: Fields, { base }: PageOptions): string {
  if (fields.cursor) return ''
  const query = String(new URLSearchParams(criteriaOf(fields)))
  return html`<p class="live" data-stream="${base}/stream?${query}" hidden>
<span class="live-state" role="status"></span> <button type="button">Pause</button></p>`
}

// The check boxes of the rows belong to this form.
function compareForm ({ base }: PageOptions): string {
  return html`<form method="get" action="${base}/compare" id="compare">
<button type="submit">Compare selected</button></form>`
}

function searchForm ({ fields = {}, own = [] }: SearchResult, current: string, { base }: PageOptions): string {
  const textFields: typeof TEXT_FIELDS = { ...TEXT_FIELDS, ...Object.fromEntries(own.map((name) => [name, [name]])) }
  const { q = '', error = '', limit = DEFAULTS.limit } = fields
  const isOpen = current === '' &&
    Object.keys({ ...textFields, error }).some((name) => (fields[name] ?? '') !== '')
  const texts = Object.entries(textFields).map(([name, [label, placeholder = '']]) =>
    html`<label><span>${label}</span> <input type="text" name="${name}" value="${fields[name] ?? ''}" ` +
    html`placeholder="${placeholder}" autocomplete="off" spellcheck="false"></label>`)
  return html`<form method="get" action="${base}/search" role="search" class="search">
<div class="query"><input type="search" name="q" value="${q}" aria-label="Search profiles" ` +
    html`placeholder="status:5xx method:POST /orders slow:>200ms" autocomplete="off" spellcheck="false">
<button type="submit">Search</button></div>
<nav class="presets" aria-label="Presets">
!${Object.entries(PRESETS).map(([text, preset]) => pageLink(presetLink(preset, base), text, current))}</nav>
<details!${isOpen ? ' open' : ''}><summary>Advanced</summary><div class="fields">
!${texts}
!${select('Outcome', 'error', OUTCOMES, error)}
!${select('Results per page', 'limit', LIMITS, limit ?? '')}
<a href="${base}/">Reset</a>
</div></details></form>`
}

function presetLink (preset: Fields, base: string): string {
  const query = queryOf(preset)
  return query === '' ? `${base}/` : `${base}/search?${query}`
}

/** Whether criteria select what a preset selects, however they are written. */
function selectsSame ({ from = 0, ...criteria }: Criteria, preset: Fields): boolean {
  const { from: start = 0, ...others } = readSearch(preset).criteria
  return isDeepStrictEqual(criteria, others) && Math.abs(from - start) < SAME_PERIOD
}

function lossNotice ({ counters, lastLoss = '' }: SearchResult): string {
  const { dropped = 0, failed = 0 } = counters ?? {}
  if (dropped + failed === 0) return ''
  const lost = counted(dropped + failed, 'profile of this process was', 'profiles of this process were')
  return html`<p class="failure">${lost} lost: ${dropped} because the queue was full, ` +
    html`${failed} because the store or their data failed. ${lastLoss && `Last reason: ${lastLoss}`}</p>`
}

function table ({ profiles = [], waiting = [] }: SearchResult, fields: Fields, { base }: PageOptions): string {
  if (profiles.length + waiting.length === 0) return ''
  const head = (label: string, column: string, className = ''): string => {
    const { cursor: _, sort: current, ...others } = fields
    const sort = current || '-time'
    const order = sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : ''
    const query = queryOf({ ...others, sort: order === 'descending' ? column : `-${column}` })
    return html`<th scope="col"!${className}!${order && html` aria-sort="${order}"`}>` +
      html`<a href="${base}/search?${query}">${label}</a></th>`
  }
  // Columns that would be empty are left out.
  const columns = COLUMNS.filter(([name]) => profiles.some(({ values }) => values?.[name] !== undefined))
  const hasOneOrigin = new Set([...waiting, ...profiles].map(({ url }) => originOf(url))).size === 1
  const bodies = groupsOf(profiles, fields).map((group) => {
    // The stylesheet expands the group when this box is checked.
    const toggle = group.length === 1
      ? ''
      : '<label class="equal"><input type="checkbox" class="hidden-visually"> equal failures</label>'
    return html`<tbody>!${group.map((profile, i) =>
      row(profile, hasOneOrigin, i === 0 ? toggle + remarks(profile) : '', columns))}</tbody>`
  })
  const open = waiting.map((request) => {
    const reasons = request.sentences.slice(0, MAX_REASONS)
      .map((text) => html`<div class="warning-line">${visibleLine(text)}</div>`)
    return row({ ...OPEN, ...request }, hasOneOrigin, reasons.join(''), columns)
  })
  return scrollable('Stored profiles', html`<table class="rows profiles">
<thead><tr><th scope="col">Token</th>!${head('Status', 'status')}<th scope="col">Method</th><th scope="col">URL</th>
<th scope="col">Route</th>!${head('Duration', 'duration', ' class="duration"')}
!${head('Time', 'time')}!${columns.map(([, title]) => html`<th scope="col" class="of-part">${title}</th>`)}
</tr></thead>!${open.length > 0 ? html`<tbody class="waiting">!${open}</tbody>` : ''}!${bodies}</table>`)
}

/**
 * The rows of a page. Sorted by time, equal failures are one group at the position of the first; otherwise none.
 * A group has no number: other pages and searches may have more of these failures.
 */
function groupsOf (profiles: readonly ProfileSummary[], { sort }: Fields): ProfileSummary[][] {
  const groups = new Map<string, ProfileSummary[]>()
  for (const profile of profiles) {
    const key = !sort || sort.endsWith('time') ? failureKey(profile) : profile.token
    groups.set(key, [...groups.get(key) ?? [], profile])
  }
  return [...groups.values()]
}

/** The key of a group: failures of one route with the same status and exception, except for numbers and ids. */
function failureKey ({ token, error, method, status, route, exception }: ProfileSummary): string {
  if (!error || (route === null && exception === null)) return token
  const message = exception?.replace(/[+-]?\d+\.\d+|\b(?=[\da-f-]*\d)[\da-f-]+\b|\d+/gi, '#')
  return [method, status, route, message].join(' ')
}

// Relative URLs make the page smaller.
function row (
  profile: ProfileSummary, hasOneOrigin: boolean, details: string, columns: typeof COLUMNS
): string {
  const { token, status, error, warnings, pinned, method, url, route, duration, time, values = {} } = profile
  const mark = isNoise(profile) ? 'is-noise' : error ? 'has-problem' : warnings > 0 ? 'has-warning' : ''
  const target = hasOneOrigin ? url.slice(originOf(url).length) || '/' : url
  const star = '<span class="pin" title="pinned"><span aria-hidden="true">★</span>' +
    '<span class="hidden-visually"> pinned</span></span>'
  return html`<tr!${mark && ` class="${mark}"`}>
<th scope="row"><input type="checkbox" name="profile" value="${token}" form="compare" aria-label="Compare ${token}">` +
    html`<a href="${token}">${token}</a>!${pinned ? star : ''}</th>
<td>!${statusBadge(status)}</td><td>${shorten(method)}</td><td class="text">${shorten(target)}!${details}</td>
<td>${shorten(route?.replace(/^[A-Z|]+ (?=\/)/, '') ?? '')}</td>` +
    html`<td class="duration">${milliseconds(duration)}</td><td>!${age(time)}</td>` +
    html`!${columns.map(([name]) => html`<td class="of-part">${values[name]}</td>`)}</tr>`
}

function originOf (url: string): string {
  return /^https?:\/\/[^/?#]*/.exec(url)?.[0] ?? ''
}

/** Text on one line. The middle of a long text is left out. */
function shorten (text: string): string {
  const line = visibleLine(text)
  const max = Math.floor(MAX_TEXT * line.length / Math.max(1, html`${line}`.length))
  return line.length <= max ? line : `${line.slice(0, Math.ceil(max * 2 / 3))}…${line.slice(-max / 3)}`
}

function remarks (profile: ProfileSummary): string {
  const { exception, warnings, parent, values: { issues: _, ...values } = {} } = profile
  if (isNoise(profile)) return ''
  const remark = exception !== null
    ? html`<p>${shorten(exception)}</p>`
    : warnings > 0 ? html`<div class="warning-line">${counted(warnings, 'warning')} logged</div>` : ''
  // Names with a capital letter are not shown.
  const shown = Object.entries(values)
    .filter(([name]) => !/[A-Z]/.test(name) && !COLUMNS.some(([column]) => column === name))
  const facts = shown.map((value) => html`<div class="facts">${shorten(value.join(': '))}</div>`)
  const relation = isFollow(profile) ? 'redirected from' : 'sub-request of'
  const cause = parent == null ? '' : html`<div class="parent-line">${relation} <code>${parent}</code></div>`
  return remark + facts.join('') + cause
}

function pagination (fields: Fields, next: string | null, { base }: PageOptions): string {
  if (next === null && !fields.cursor) return ''
  const link = (cursor: string, text: string, attribute = ''): string =>
    html`<a href="${base}/search?${queryOf({ ...fields, cursor })}"!${attribute}>${text}</a> `
  return html`<nav class="pages" aria-label="Pages">!${fields.cursor ? link('', 'Newest profiles') : ''}` +
    html`!${next === null ? '' : link(next, 'Older profiles', ' rel="next"')}</nav>`
}

function statsText ({ engine, place, profiles, maxProfiles, failures, pinned, ...stats }: StorageStats): string {
  const where = engine === 'memory' ? 'the memory of this process' : `the ${engine} store at ${place}`
  return `${profiles.toLocaleString('en')} of at most ${counted(maxProfiles, 'profile')}, ` +
    `${bytes(stats.bytes)} of ${bytes(stats.maxBytes)}: ${counted(failures, 'failure')}, ` +
    `${pinned.toLocaleString('en')} pinned. Stored in ${where}.`
}
