import {
  formatCount, escapeHtml, html, presentItems, visibleLine, type HtmlValue, type SafeHtml
} from '../../view/text.js'
import type { FailureGroup, FailureGroups } from '../../store/failure-groups.js'
import { groupedBy } from '../../parts/read.js'
import { isFollow, isJob, isNoise, listedException, shownOutcome, type ProfileSummary } from '../../store/profile.js'
import { DEFAULT_LIMIT, factsOf, PART_CRITERIA } from '../../store/search-query.js'
import {
  ageElement, formatSize, formatTime, noteText, pathOf, scrollRegion, statusBadge, markupTable
} from '../../view/components.js'
import type { WaitingRequest } from '../../recording/waiting.js'
import type { PageOptions } from './layout.js'

/** The fields of a search, as in the query. */
export type Fields = Readonly<Record<string, string>>

export const DEFAULTS: Fields = { limit: String(DEFAULT_LIMIT), sort: '-time' }

/** The URL says most of a route; the message needs the width. */
const HIDDEN = new Set(['route', 'kind', 'size'])

/**
 * The columns that can be hidden, in their order: the number of each is in the stylesheet. `name` is that of a value of
 * the parts, or `route`.
 */
export const COLUMNS = [['route', { column: 'Route' }] as const, ...Object.entries(PART_CRITERIA)]
  .flatMap(([name, { column }]) => typeof column === 'string'
    ? [{ name, title: column, isShown: !HIDDEN.has(name) }]
    : [])

/** Maximum characters of markup of a URL or an exception, so that a list of 50 has less than 40 kB. */
const MAX_TEXT = 80
/** Tenths of the bar of a duration. */
const STEPS = 10
/** What a profile has in addition to a request that has not ended. */
const OPEN = { status: 0, ip: '', error: false, exception: null, warnings: 1, parent: null, pinned: false }
const MAX_REASONS = 3
const MAX_ROUTES = 5

/** The search, and whether it has a further page. */
interface Listed { fields: Fields, hasOlder: boolean }

/** What is the same for all rows. */
interface View {
  columns: ReturnType<typeof shownColumns>
  /** The origin that is left out, as most URLs have it. */
  origin: string
  longest: number
  hasOlder: boolean
}

/** The query of a search, without fields that are empty or the default. */
export function queryOf (fields: Fields): string {
  return String(new URLSearchParams(Object.entries(fields)
    .filter(([name, value]) => value !== '' && value !== DEFAULTS[name])))
}

/** The rows of profiles, below those of requests that have not ended. */
export function profileTable (
  profiles: readonly ProfileSummary[], waiting: readonly WaitingRequest[], { fields, hasOlder }: Listed,
  { base }: PageOptions
): HtmlValue {
  const all = [...waiting, ...profiles]
  if (all.length === 0) return null
  const head = (label: string, column: string, className?: SafeHtml): SafeHtml => {
    const { cursor: _, sort: current, ...others } = fields
    const order = orderOf(column, current || '-time')
    const query = queryOf({ ...others, sort: order === 'descending' ? column : `-${column}` })
    return html`<th scope="col"${className}${order && html` aria-sort="${order}"`}>\
<a href="${base}/search?${query}">${label}</a></th>`
  }
  // One that hangs would leave no bar to the others.
  const ended = profiles.filter(({ values }) => values?.outcome !== 'running')
  const longest = Math.max(0, ...ended.map(({ duration }) => duration))
  const origin = mostOf(all.map(({ url }) => originOf(url)))
  const view: View = { columns: shownColumns(profiles), origin, longest, hasOlder }
  const open = waiting.map((request) => {
    // What it waits for says more than where.
    const isWork = (sentence: string): number => Number(sentence.startsWith('Not ended'))
    const reasons = request.sentences.toSorted((a, b) => isWork(b) - isWork(a)).slice(0, MAX_REASONS)
      .map((text) => html`<div class="warning-line">${visibleLine(text)}</div>`)
    return row({ ...OPEN, ...request }, view, reasons)
  })
  const hasWords = all.some(({ values }) => values?.outcome !== undefined || values?.isCutOff !== undefined)
  return scrollRegion('Stored profiles', html`<table class="rows profiles${hasWords && ' has-words'}">
<thead><tr>${head('Status', 'status')}<th scope="col">Method</th><th scope="col">URL</th>\
<th scope="col" class="message">Message</th>\
${view.columns.map(({ index, title }) => html`<th scope="col" class="c${index}">${title}</th>`)}
${head('Duration', 'duration', html` class="duration"`)}${head('Time', 'time')}<th scope="col">Token</th>
</tr></thead>${open.length > 0 && html`<tbody class="waiting">${open}</tbody>`}\
${groupsOf(profiles, fields).map((group) => groupBody(group, view))}</table>`)
}

function orderOf (column: string, sort: string): string {
  if (sort === column) return 'ascending'
  if (sort === `-${column}`) return 'descending'
  return ''
}

function groupBody ({ rows: [first, ...equal], children }: Group, view: View, className = ''): SafeHtml {
  if (first === undefined) return html``
  const details = [equalMark(first, equal.length + 1, view.hasOlder), remarks(first)]
  return html`<tbody>${row(first, view, details, className)}\
${equal.map((profile) => row(profile, view, '', 'is-equal'))}</tbody>\
${children.map((child) => groupBody(child, view, 'is-child'))}`
}

/** The number of the rows of a group, which expands it: where older pages may have more, those of this page. */
function equalMark ({ values }: ProfileSummary, count: number, hasOlder: boolean): HtmlValue {
  if (count === 1) return null
  let what = 'equal runs'
  if (values?.failure !== undefined) what = 'equal failures'
  if (values?.job !== undefined) what = 'attempts'
  // The stylesheet expands the group when this box is checked.
  return html`<label class="equal"><input type="checkbox" class="hidden-visually">\
<span class="count">×${count}${hasOlder && ' here'}</span><span class="hidden-visually"> ${what}</span></label>`
}

// Columns that would be empty, or have one machine in all rows, are left out.
function shownColumns (profiles: readonly ProfileSummary[]) {
  return COLUMNS.map((column, index) => ({ ...column, index })).filter(({ name }) => {
    if (name === 'machine') return new Set(profiles.flatMap(({ values }) => values?.machine ?? [])).size > 1
    return profiles.some((profile) => cell(profile, name) !== '')
  })
}

function mostOf (texts: readonly string[]): string {
  const groups = [...groupedBy(texts, (text) => text).values()]
  return groups.reduce((most, one) => one.length > most.length ? one : most, [])[0] ?? ''
}

/** Equal rows, and those of the sub-requests and jobs of the first of them. */
interface Group {
  rows: ProfileSummary[]
  children: Group[]
}

/**
 * The rows of a page. Sorted by time, equal failures, the attempts of a job, and equal runs of a schedule, are one
 * group at the position of the first; otherwise none.
 * Newest first, sub-requests and jobs are below their parents, also those that are newer.
 */
function groupsOf (profiles: readonly ProfileSummary[], { sort }: Fields): Group[] {
  const groups = new Map<string, Group>()
  const [isByTime, isNewestFirst] = [!sort || sort.endsWith('time'), !sort || sort === '-time']
  const roots = rootsOf(isNewestFirst ? profiles : [])
  for (const profile of profiles) {
    const { token, values } = profile
    // A sub-request is not folded: its parent would be without it.
    const common = roots.has(token) ? values?.job : repeatedKey(profile)
    const key = (isByTime && common) || token
    const group = groups.get(key) ?? { rows: [], children: [] }
    groups.set(key, group)
    group.rows.push(profile)
  }
  const byToken = new Map([...groups.values()].map((group) => [group.rows[0]?.token, group]))
  const shown: Group[] = []
  for (const [token = '', group] of byToken) {
    const parent = byToken.get(roots.get(token) ?? '')
    // The rows of equal failures but the first are folded.
    if (parent === undefined) shown.push(group)
    else parent.children.push(group)
  }
  return shown
}

/** What equal rows have in common; undefined for a row that is none of several. */
function repeatedKey ({ url, values = {} }: ProfileSummary): string | undefined {
  const { job, failure, kind, issues = '' } = values
  if (job !== undefined || failure !== undefined) return job ?? failure
  return kind === 'schedule' ? `${url} ${issues}` : undefined
}

/** Ancestors of a profile that are looked at. */
const MAX_ANCESTORS = 20

/** The tokens of the first ancestors on the page, by those of their sub-requests and jobs. */
function rootsOf (profiles: readonly ProfileSummary[]): Map<string, string> {
  const parents = new Map(profiles.map(({ token, parent }) => [token, parent ?? '']))
  const roots = new Map<string, string>()
  for (const { token } of profiles) {
    const root = rootOf(token, parents)
    if (root !== token) roots.set(token, root)
  }
  return roots
}

function rootOf (token: string, parents: ReadonlyMap<string, string>): string {
  let root = token
  for (let depth = 0; depth < MAX_ANCESTORS; depth++) {
    const parent = parents.get(root) ?? ''
    if (!parents.has(parent)) return root
    root = parent
  }
  // A store may have profiles that are their own ancestors.
  return token
}

// Relative URLs make the page smaller.
function row (
  profile: ProfileSummary, { columns, origin, longest }: View, details: HtmlValue, className = ''
): SafeHtml {
  const { token, status, pinned, method, url, duration, time } = profile
  const names = `${markOf(profile)} ${className}`.trim()
  const star = html`<span class="pin" title="pinned"><span aria-hidden="true">★</span>\
<span class="hidden-visually"> pinned</span></span>`
  const steps = Math.min(STEPS, Math.round(STEPS * duration / longest)) || 0
  return html`<tr${names && html` class="${names}"`}>
<td><input type="checkbox" name="profile" value="${token}" form="compare" aria-label="Compare ${token}">\
${statusBadge(status, shownOutcome(profile), profile.error)}</td><td>${cut(method)}</td>\
<td class="text">${cut(targetOf(url, origin))}</td><td class="message">${details}</td>\
${columns.map(({ name, index }) => html`<td class="c${index}">${cell(profile, name)}</td>`)}
<td class="duration${steps > 0 && ` d${steps}`}">${formatTime(duration)}</td><td>${ageElement(time)}</td>
<th scope="row"><a href="${token}">${token}</a>${pinned && star}</th></tr>`
}

function markOf (profile: ProfileSummary): string {
  if (isNoise(profile)) return 'is-noise'
  if (profile.error) return 'has-problem'
  if (profile.warnings > 0 || profile.values?.issues !== undefined) return 'has-warning'
  return ''
}

/** Empty where it has nothing to say: a route whose pattern is the path, too. */
function cell ({ url, route, values = {} }: ProfileSummary, name: string): string {
  if (name === 'route') {
    const pattern = route?.replace(/^[A-Z|]+ (?=\/)/, '') ?? ''
    if (pattern === pathOf(url).replace(/[?#].*/s, '')) return ''
    return cut(pattern)
  }
  if (name === 'size' && values.size !== undefined) return formatSize(Number(values.size))
  return values[name] ?? ''
}

/** The path and query of a URL, with its origin where most have another one; the name of a job. */
function targetOf (url: string, most: string): string {
  const origin = originOf(url)
  const target = url.slice(origin.length) || '/'
  return origin === '' || origin === most ? target : `${target} · ${origin}`
}

function originOf (url: string): string {
  return /^https?:\/\/[^/?#]*/.exec(url)?.[0] ?? ''
}

/** Text on one line, of which the stylesheet shows the beginning. */
function cut (text: string): string {
  const line = visibleLine(text)
  const max = Math.floor(MAX_TEXT * line.length / Math.max(1, escapeHtml(line).length))
  if (line.length <= max) return line
  return `${line.slice(0, max)}…`
}

function remarks (profile: ProfileSummary): HtmlValue {
  if (isNoise(profile)) return null
  const { parent, values } = profile
  const exception = listedException(profile)
  let relation = isJob(profile) ? 'queued by' : 'sub-request of'
  if (isFollow(profile)) relation = 'redirected from'
  return [
    exception !== null && html`<p>${cut(exception)}</p>`,
    factsOf(profile).map((fact) =>
      html`<div class="${values?.issues?.includes(fact) ? 'warning-line' : 'facts'}">${cut(fact)}</div>`),
    parent != null && html`<div class="parent-line">${relation} <code>${parent}</code></div>`
  ]
}

/** The failures of all pages in groups, with the bound. */
export function groupTable ({ groups, failures, all, isBounded }: FailureGroups, { base }: PageOptions): HtmlValue {
  if (groups.length === 0) return html`<div class="empty">${noteText('No failures match.')}</div>`
  let counts = `${formatCount(failures, 'failure')} in ${formatCount(all, 'group')}`
  if (isBounded) counts = `The newest ${counts}`
  if (all > groups.length) counts += `, of which the ${groups.length} newest are shown`
  const hasRevision = groups.some(({ revisions }) => revisions.length > 0)
  const rows = groups.map((group) => groupRow(group, hasRevision, base))
  const columns = presentItems<string | [string]>(
    [['Count'], 'Failure', 'Routes', hasRevision && 'Revision', 'First seen', 'Last seen'])
  return [
    noteText(`${counts}. A group has one root cause and one line of the application.`),
    markupTable('Groups of failures', columns, rows, 'rows groups')
  ]
}

function groupRow (
  { count, failure, first, last, routes, revisions }: FailureGroup, hasRevision: boolean, base: string
): SafeHtml {
  const { status, exception, token } = last
  const title = cut(exception?.replace(last.url, () => pathOf(last.url)) ?? `${status} without an error`)
  const target = failure === undefined ? token : `search?q=failure:${failure}`
  const line = last.values?.line !== undefined && html` <small>${last.values.line}</small>`
  const commits = revisions.map((one) => html`<div><code title="${one}">${one.slice(0, 7)}</code></div>`)
  const left = routes.length - MAX_ROUTES
  const shown = routes.slice(0, MAX_ROUTES).map((route) => html`<div>${cut(route)}</div>`)
  return html`<tr><td class="number" data-label="count">${count}</td>
<td class="text">${statusBadge(status, shownOutcome(last), last.error)} \
<a href="${base}/${target}">${title}</a>${line}</td>
<td>${shown}${left > 0 && html`<div>${formatCount(left, 'more route')}</div>`}</td>
${hasRevision && html`<td>${commits}</td>`}
<td data-label="first">${ageElement(first.time)}</td>
<td data-label="last">${ageElement(last.time)} <a href="${base}/${token}">${token}</a></td></tr>`
}
