import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { DEFAULT_LIMIT } from '../search-query.js'
import type { StorageStats } from '../storage/storage.js'
import type { ProfileSummary } from '../storage/summary.js'
import type { WriteCounters } from '../write-queue.js'
import { bytes, milliseconds, note, scrollable, statusBadge } from './components.js'
import { layout } from './layout.js'
import type { PageOptions } from './layout.js'
import { searchForm, type Fields } from './search-form.js'

/** What a search brought, or why it could not be made. */
export interface SearchResult {
  /** The search as it was written. */
  fields: Fields
  problem?: string
  /** Newest first. */
  profiles: readonly ProfileSummary[]
  next: string | null
  stats?: StorageStats
  counters?: Readonly<WriteCounters>
}

/** The page that lists what is stored and fits, newest first, with a mark on what has a problem. */
export function searchPage (result: SearchResult, options: PageOptions): string {
  const { fields, problem, profiles, next, stats, counters } = result
  const wanted = Object.entries(fields).some(([name, value]) => value !== '' && name !== 'limit' && name !== 'cursor')
  return layout(options, wanted ? 'Search' : 'Profiles', html`<main>
<h1>${wanted ? 'Search' : 'Profiles'}</h1>
!${searchForm(fields, options, wanted || problem !== undefined)}
!${problem === undefined ? '' : html`<p class="failure" role="alert">${problem}</p>`}
!${counters === undefined || counters.dropped + counters.failed === 0
  ? ''
  : html`<p class="failure">${counters.dropped + counters.failed} profiles of this process were lost: ${counters.dropped} because too many were waiting, ${counters.failed} because the store or their data failed. The log says why.</p>`}
!${problem !== undefined ? '' : profiles.length === 0 ? note(empty(wanted)) : table(profiles, options.base)}
!${next === null ? '' : html`<p class="more"><a rel="next" href="${options.base}/search?${query({ ...fields, cursor: next })}">Older profiles</a></p>`}
!${stats === undefined ? '' : html`<p class="note stats">${summaryOf(stats)}</p>`}
</main>`)
}

function empty (wanted: boolean): string {
  return wanted
    ? 'No stored profile fits.'
    : 'No request has been profiled yet. Send one to the application, then load this page again.'
}

function table (profiles: readonly ProfileSummary[], base: string): string {
  return scrollable('Stored profiles', html`<table class="rows profiles"><thead><tr>
<th scope="col">Token</th><th scope="col">Status</th><th scope="col">Method</th><th scope="col">URL</th>
<th scope="col" class="number">Duration</th><th scope="col">Client</th><th scope="col">Time</th>
</tr></thead><tbody>!${profiles.map((profile) => row(profile, base))}</tbody></table>`)
}

function row (profile: ProfileSummary, base: string): string {
  const { token, status, error, warnings, pinned } = profile
  return html`<tr!${error ? ' class="has-problem"' : warnings > 0 ? ' class="has-warning"' : ''}>
<th scope="row"><a href="${base}/${token}">${token}</a>!${pinned ? '<span class="pin" title="pinned"><span aria-hidden="true">★</span><span class="hidden-visually"> pinned</span></span>' : ''}</th>
<td>!${statusBadge(status)}!${error ? '<span class="hidden-visually"> failed</span>' : ''}</td>
<td>${profile.method}</td><td class="text">${visibleLine(profile.url)}!${remarks(profile)}</td>
<td class="number">${milliseconds(profile.duration)}</td><td>${profile.ip}</td>
<td><time datetime="${profile.time}">${String(profile.time).replace('T', ' ').replace('Z', '')}</time></td></tr>`
}

function remarks ({ exception, warnings }: ProfileSummary): string {
  return (exception === null ? '' : html`<div class="exception-line">${visibleLine(exception)}</div>`) +
    (exception !== null || warnings === 0 ? '' : html`<div class="warning-line">${warnings} ${warnings === 1 ? 'warning' : 'warnings'} logged</div>`)
}

function query (fields: Fields): string {
  return new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== '' && value !== String(DEFAULT_LIMIT))).toString()
}

function summaryOf ({ engine, place, profiles, maxProfiles, failures, pinned, ...stats }: StorageStats): string {
  const count = (number: number): string => number.toLocaleString('en')
  return `${count(profiles)} of at most ${count(maxProfiles)} profiles, ${bytes(stats.bytes)} of ${bytes(stats.maxBytes)}: ` +
    `${count(failures)} failures, ${count(pinned)} pinned. Kept in ${engine === 'memory' ? 'the memory of this process' : `the ${engine} store at ${place}`}.`
}
