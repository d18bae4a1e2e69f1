import { html } from '../../../view/html.js'
import { script as readScript, style as readStyle } from '../../../view/asset.js'
import type { StorageStats } from '../../storage/storage.js'
import type { ProfileSummary } from '../../summary.js'
import type { WriteCounters } from '../../write-queue.js'
import { bytes, note, scrollable } from '../components.js'
import { layout } from '../layout/component.js'
import type { PageOptions } from '../layout/component.js'
import { counted } from '../../../view/counted.js'
import { criteriaOf, purgeForm, queryOf, searchForm, type Fields } from './form.js'
import { row } from './row.js'

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
  /** Why profiles were lost, the last time. */
  lastLoss?: string
  /** When the page is made, in milliseconds since the epoch. */
  now: number
}

/** How the list and the forms of the search look. */
export const style = readStyle(import.meta.url, './style.css')

/** Follows what comes, and keeps the times true. */
export const script = readScript(import.meta.url, './script.js')

/** The page that lists what is stored and fits, newest first, with a mark on what has a problem. */
export function searchPage (result: SearchResult, options: PageOptions): string {
  const { fields, problem, profiles, next, stats, counters, lastLoss = '' } = result
  const wanted = criteriaOf(fields).length > 0
  const title = wanted ? 'Search' : 'Profiles'
  return layout(options, title, html`<main id="content">
<div class="title-row"><h1>${title}</h1>!${problem === undefined ? live(fields, options) : ''}!${problem === undefined ? compareForm(options) : ''}</div>
!${searchForm(fields, options, wanted || problem !== undefined)}
!${problem === undefined ? '' : html`<p class="failure" role="alert">${problem}</p>`}
!${counters === undefined || counters.dropped + counters.failed === 0
  ? ''
  : html`<p class="failure">${counted(counters.dropped + counters.failed, 'profile of this process was', 'profiles of this process were')} lost: ${counters.dropped} because too many were waiting, ${counters.failed} because the store or their data failed. ${lastLoss === '' ? 'The log says why.' : `The last time: ${lastLoss}`}</p>`}
!${problem !== undefined ? '' : table(result, options) + (profiles.length === 0 ? html`<div class="empty">!${note(empty(wanted))}</div>` : '')}
!${pagesNav(fields, next, options)}
!${stats === undefined ? '' : html`<div class="stats"><p class="note">${summaryOf(stats)}</p>!${purgeForm(fields, options)}</div>`}
</main>`)
}

// What comes belongs at the top of the newest, not of an older page.
function live (fields: Fields, { base }: PageOptions): string {
  if (fields.cursor) return ''
  const query = new URLSearchParams(criteriaOf(fields)).toString()
  return html`<p class="live" data-stream="${base}/stream?${query}" data-base="${base}" hidden><span class="live-state" role="status"></span> <button type="button" aria-pressed="true">Follow</button></p>`
}

// Its boxes stand in the rows.
function compareForm ({ base }: PageOptions): string {
  return html`<form method="get" action="${base}/compare" id="compare"><button type="submit" aria-describedby="compare-how">Compare</button> <span class="note" id="compare-how">the two that are ticked</span></form>`
}

function empty (wanted: boolean): string {
  return wanted
    ? 'No stored profile fits.'
    : 'No request has been profiled yet. Send one to the application, then load this page again.'
}

function table ({ profiles, fields, now }: SearchResult, options: PageOptions): string {
  const place = { back: queryOf(fields), now }
  return scrollable('Stored profiles', html`<table class="rows profiles"!${profiles.length === 0 ? ' hidden' : ''}><thead><tr>
<th scope="col">Token</th><th scope="col">Status</th><th scope="col">Method</th><th scope="col">URL</th>
<th scope="col" class="number">Duration</th><th scope="col">Client</th><th scope="col">Time</th><th scope="col"><span class="hidden-visually">Pin</span></th>
</tr></thead><tbody>!${profiles.map((profile) => row(profile, options, place))}</tbody></table>`)
}

function pagesNav (fields: Fields, next: string | null, { base }: PageOptions): string {
  if (next === null && !fields.cursor) return ''
  const { cursor: _, ...first } = fields
  return html`<nav class="pages" aria-label="Pages">!${fields.cursor ? html`<a href="${base}/search?${queryOf(first)}">Newest profiles</a> ` : ''}!${
    next === null ? '' : html`<a rel="next" href="${base}/search?${queryOf({ ...fields, cursor: next })}">Older profiles</a>`}</nav>`
}

function summaryOf ({ engine, place, profiles, maxProfiles, failures, pinned, ...stats }: StorageStats): string {
  return `${profiles.toLocaleString('en')} of at most ${counted(maxProfiles, 'profile')}, ${bytes(stats.bytes)} of ${bytes(stats.maxBytes)}: ` +
    `${counted(failures, 'failure')}, ${pinned.toLocaleString('en')} pinned. Kept in ${engine === 'memory' ? 'the memory of this process' : `the ${engine} store at ${place}`}.`
}
