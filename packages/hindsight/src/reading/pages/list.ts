import { isDeepStrictEqual } from 'node:util'
import { formatCount, formatInteger, html, type HtmlValue, type SafeHtml } from '../../view/text.js'
import type { Criteria } from '../../store/criteria.js'
import { readSearch } from '../../store/search-query.js'
import type { ProfilePage, StorageStats } from '../../store/storage.js'
import { JOB_KINDS } from '../../store/profile.js'
import type { FailureGroups } from '../../store/failure-groups.js'
import type { WriteCounters } from '../../store/write-queue.js'
import { formatSize, noteText, selectElement } from '../../view/components.js'
import type { WaitingRequest } from '../../recording/waiting.js'
import { pageLayout, pageLink, type PageOptions } from './layout.js'
import { COLUMNS, DEFAULTS, groupTable, profileTable, queryOf, type Fields } from './list-table.js'

/** The result of a search, or why it failed. */
interface SearchResult extends Partial<Pick<ProfilePage, 'profiles' | 'next'>> {
  fields?: Fields
  /** What the fields select; absent where the search failed. */
  criteria?: Criteria
  /** The criteria of the parts of the application. */
  added?: readonly string[]
  problem?: string
  stats?: StorageStats
  counters?: Readonly<WriteCounters>
  lastLoss?: string
  /** The address of the page that could not be read. */
  retry?: string
  waiting?: readonly WaitingRequest[]
  failures?: FailureGroups | undefined
  /** The routes of the application, as markup, where there are no profiles. */
  routes?: HtmlValue
  /** What parts show above the list, as markup. */
  above?: HtmlValue
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
const KINDS = ['', ...JOB_KINDS, 'document', 'fetch', 'asset', 'injected'].map((one) => [one, one || 'All'] as const)
const LIMITS = ['20', '50', '100', '500'].map((limit) => [limit, limit] as const)
/** Fields that do not select profiles. */
const DISPLAY_FIELDS = new Set(['sort', 'limit', 'cursor', 'group'])
/** The fields of the presets, by the text of their links; the header of each page has the first one, and the groups. */
const PRESETS: Readonly<Record<string, Fields>> = {
  Profiles: {},
  Failures: { error: '1' },
  '5xx': { q: 'status:5xx' },
  Slow: { q: 'slow:>200ms' },
  'Last hour': { q: 'from:1h' },
  Jobs: { kind: 'job' }
}
/** A path that no application has: its diagnostic page is the first failure to look at. */
const MISSING_PAGE = 'a-page-that-does-not-exist'
/** Milliseconds that the beginnings of equal periods may differ: an age is relative to the time of its search. */
const SAME_PERIOD = 60_000

/** The list of stored profiles that match a search. */
export function searchPage (result: SearchResult, options: PageOptions): SafeHtml {
  const { fields = {}, problem, profiles = [], next = null, stats, failures } = result
  const current = currentAddress(result, options.base)
  const title = titleOf(result)
  const isList = problem === undefined && failures === undefined
  return pageLayout(options, title, html`<main id="content" class="list"><h1 class="hidden-visually">${title}</h1>
<div class="title-row">${searchForm(result, current, options)}
${isList && columnBoxes()}${problem === undefined && liveControl(fields, options)}${
  isList && compareForm(options)}</div>
<div class="results">${lossNotice(result)}
${resultsMarkup(result, options)}
${pagination(fields, next, options)}
${stats !== undefined && html`<div class="stats">${noteText(statsText(stats))}</div>`}
</div></main>`, profiles[0]?.status, current)
}

function titleOf ({ fields = {}, failures }: SearchResult): string {
  if (failures !== undefined) return 'Groups of failures'
  return criteriaOf(fields).length > 0 ? 'Search' : 'Profiles'
}

/** The address of the preset that selects the same, or of the groups. */
function currentAddress ({ criteria, failures }: SearchResult, base: string): string {
  if (failures !== undefined) return groupsAddress(base)
  const preset = Object.values(PRESETS).find((preset) => criteria !== undefined && selectsSame(criteria, preset))
  if (preset === undefined) return ''
  return presetLink(preset, base)
}

function resultsMarkup (result: SearchResult, options: PageOptions): HtmlValue {
  const { fields = {}, problem, retry, profiles = [], next = null, waiting = [], failures, routes, above } = result
  if (problem !== undefined) {
    const link = retry && html` <a href="${retry}">Try again</a>`
    return html`<p class="failure" role="alert">${problem}${link}</p>`
  }
  if (failures !== undefined) return groupTable(failures, options)
  if (profiles.length + waiting.length > 0) {
    return [above, profileTable(profiles, waiting, { fields, hasOlder: next !== null }, options)]
  }
  const noMatch = html`<div class="empty">${noteText('No profiles match.')}</div>`
  if (criteriaOf(fields).length > 0) return [above, noMatch]
  const empty = 'No request has been profiled yet. Send one to the application: it appears here.'
  const { base, debug } = options
  const first = debug && html`<a class="button" href="${base}/../${MISSING_PAGE}">Make a first failure</a>`
  return [above, html`<div class="empty">${noteText(empty)}${first}</div>`, routes]
}

function groupsAddress (base: string): string {
  return `${base}/search?group=failures`
}

// The stylesheet hides the columns whose boxes are not checked.
function columnBoxes (): SafeHtml {
  const boxes = COLUMNS.map(({ title, isShown }, i) =>
    html`<label><input type="checkbox" name="column" value="${i}"${isShown && ' checked'}> ${title}</label>`)
  return html`<details class="columns-menu"><summary>Columns</summary><div>${boxes}</div></details>`
}

/** The fields that select profiles. */
function criteriaOf (fields: Fields): Array<[string, string]> {
  return Object.entries(fields).filter(([name, value]) => value !== '' && !DISPLAY_FIELDS.has(name))
}

// Only the page of the newest profiles can be live.
function liveControl (fields: Fields, { base }: PageOptions): HtmlValue {
  if (fields.cursor) return null
  const query = String(new URLSearchParams(criteriaOf(fields)))
  return html`<p class="live" data-stream="${base}/stream?${query}" hidden>
<span class="live-state" role="status"></span> <button type="button">Pause</button></p>`
}

// The check boxes of the rows belong to this form.
function compareForm ({ base }: PageOptions): SafeHtml {
  return html`<form method="get" action="${base}/compare" id="compare">
<button type="submit">Compare selected</button></form>`
}

function searchForm ({ fields = {}, added = [] }: SearchResult, current: string, { base }: PageOptions): SafeHtml {
  const textFields: typeof TEXT_FIELDS = { ...TEXT_FIELDS, ...Object.fromEntries(added.map((name) => [name, [name]])) }
  const { q = '', kind = '', error = '', limit = DEFAULTS.limit } = fields
  const isOpen = current === '' && criteriaOf(fields).some(([name]) => name !== 'q')
  const texts = Object.entries(textFields).map(([name, [label, placeholder = '']]) =>
    html`<label><span>${label}</span> <input type="text" name="${name}" value="${fields[name] ?? ''}" \
placeholder="${placeholder}"></label>`)
  const presets = Object.entries(PRESETS).filter(([name]) => name !== 'Profiles')
  return html`<form action="${base}/search" role="search" class="search" autocomplete="off" spellcheck="false">
<div class="query"><input type="search" name="q" value="${q}" aria-label="Search profiles" \
placeholder="status:5xx -kind:asset /orders slow:>200ms">
<button type="submit">Search</button></div>
<nav class="presets" aria-label="Presets">
${presets.map(([text, preset]) => pageLink(presetLink(preset, base), text, current))}</nav>
<details${isOpen && ' open'}><summary>Advanced</summary><div class="fields">
${texts}
${selectElement('Kind', 'kind', KINDS, kind)}
${selectElement('Outcome', 'error', OUTCOMES, error)}
${selectElement('Results per page', 'limit', LIMITS, limit ?? '')}
<a href="${base}/">Reset</a>
</div></details></form>`
}

function presetLink (preset: Fields, base: string): string {
  const query = queryOf(preset)
  if (query === '') return `${base}/`
  return `${base}/search?${query}`
}

/** Whether criteria select what a preset selects, however they are written. */
function selectsSame ({ from = 0, ...criteria }: Criteria, preset: Fields): boolean {
  const { from: start = 0, ...others } = readSearch(preset).criteria
  return isDeepStrictEqual(criteria, others) && Math.abs(from - start) < SAME_PERIOD
}

function lossNotice ({ counters, lastLoss = '', problem = '' }: SearchResult): HtmlValue {
  const { dropped = 0, failed = 0 } = counters ?? {}
  if (dropped + failed === 0) return null
  const lost = formatCount(dropped + failed, 'profile of this process was', 'profiles of this process were')
  const why = { 'the queue was full': dropped, 'the store or their data failed': failed }
  const reasons = Object.entries(why).filter(([, n]) => n > 0).map(([reason, n]) => `${n} because ${reason}`).join(', ')
  // The problem of a store that is unavailable is below.
  const last = problem === '' ? lastLoss && `Last reason: ${lastLoss}` : ''
  return html`<p class="failure">${lost} lost: ${reasons}. ${last}</p>`
}

function pagination (fields: Fields, next: string | null, { base }: PageOptions): HtmlValue {
  if (next === null && !fields.cursor) return null
  const addressOf = (cursor: string): string => `${base}/search?${queryOf({ ...fields, cursor })}`
  return html`<nav class="pages" aria-label="Pages">\
${fields.cursor && html`<a href="${addressOf('')}">Newest profiles</a> `}\
${next !== null && html`<a href="${addressOf(next)}" rel="next">Older profiles</a> `}</nav>`
}

function statsText ({ engine, place, profiles, maxProfiles, failures, pinned, ...stats }: StorageStats): string {
  const where = engine === 'memory' ? 'the memory of this process' : `the ${engine} store at ${place}`
  return `${formatInteger(profiles)} of at most ${formatCount(maxProfiles, 'profile')}, ` +
    `${formatSize(stats.bytes)} of ${formatSize(stats.maxBytes)}: ${formatCount(failures, 'failure')}, ` +
    `${formatInteger(pinned)} pinned. Stored in ${where}.`
}
