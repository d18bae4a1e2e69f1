import { html } from '../../view/html.js'
import { cut, visibleLine } from '../../view/visible.js'
import { moment, note, statusBadge, table } from '../pages/components.js'
import { listOf } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import type { Criteria } from '../storage/criteria.js'
import type { Awaitable, ProfilePage, ProfileStorage, SearchOptions } from '../storage/storage.js'
import { isFailure, type ProfileSummary } from '../summary.js'
import { orderedDifferences, type Difference } from './differences.js'

export type { Difference } from './differences.js'

/** The last success of the route of a failure, and how the failure differs from it. */
export interface LastSuccess {
  /** The token of the failure. */
  token: string
  summary: ProfileSummary
  /** The most important first; at most five. */
  differences: Difference[]
}

/** Where profiles are read: `Profiler`, or a store with its `get` as `find`. */
export interface ProfileSource {
  search: (options: SearchOptions) => Awaitable<ProfilePage>
  find: (token: string) => Awaitable<Profile | undefined>
}

/** A store as a source. */
export function sourceOf (store: ProfileStorage): ProfileSource {
  return { search: (options) => store.search(options), find: (token) => store.get(token) }
}

const MAX_DIFFERENCES = 5
/** How many older profiles are read for the previous one. */
const MAX_OLDER = 50
const MAX_VALUE = 200
/** Characters that are the same in both before a difference. */
const MAX_SHARED = 40
export const NO_DIFFERENCE =
  'Request, session, user, outgoing calls, code revision, configuration and versions are the same.'

/**
 * The newest profile that matches the criteria, is accepted, is of the same route (without a route: of the same path
 * and method) and is older than the given one. Among profiles of the same millisecond, the order of the store counts.
 */
export async function previousOf (
  profile: Profile, criteria: Criteria, search: (options: SearchOptions) => Awaitable<ProfilePage>,
  accepts: (summary: ProfileSummary) => boolean = () => true
): Promise<ProfileSummary | undefined> {
  const { route, time, method, url, token } = profile
  const same = route === null ? { url: url.replace(/[?#][^]*$/, '').slice(-500), method } : { route: route.name }
  const until = Math.min(criteria.until ?? Infinity, Date.parse(time))
  const { profiles } = await search({ criteria: { ...criteria, ...same, until }, limit: MAX_OLDER })
  const own = profiles.findIndex((summary) => summary.token === token)
  return profiles.slice(own + 1).find(accepts)
}

/** Whether a request failed: something was thrown, or the status is that of an error. */
export function hasFailed ({ exceptions, status }: Profile): boolean {
  return status >= 400 || isFailure({ exceptions: listOf(exceptions) as unknown as Profile['exceptions'], status })
}

/**
 * Compares a profile with the newest success of the same route and method before it; null where none is stored. Where
 * no route matched, with that of the same path.
 */
export async function lastSuccess (source: ProfileSource, profile: Profile): Promise<LastSuccess | null> {
  const path = pathOf(profile.url)
  const isSuccess = ({ status, url }: ProfileSummary): boolean =>
    status < 400 && (profile.route !== null || pathOf(url) === path)
  const criteria = { error: false, method: profile.method }
  const summary = await previousOf(profile, criteria, (options) => source.search(options), isSuccess)
  // The store may have evicted it since the search.
  const success = summary && await source.find(summary.token)
  if (summary === undefined || success === undefined) return null
  const differences = orderedDifferences(success, profile).slice(0, MAX_DIFFERENCES)
    .map(({ what, before, now }) => {
      // Long texts are shown from where they begin to differ.
      const at = `${before}\n`.split('').findIndex((character, i) => character !== now[i])
      const from = (text: string): string => shown(at > 2 * MAX_SHARED ? `…${text.slice(at - MAX_SHARED)}` : text)
      return { what: shown(what), before: from(before), now: from(now) }
    })
  return { token: profile.token, summary, differences }
}

/** The last success of the route of a failure; null for a success, too. */
export async function successOf (source: ProfileSource, profile: Profile): Promise<LastSuccess | null> {
  return hasFailed(profile) ? await lastSuccess(source, profile) : null
}

/** The differences as a fragment of HTML; `base` is the path of the profiler's routes. */
export function renderDifferences (found: LastSuccess | null, base: string, isReplayable = true): string {
  if (found === null) return note('No success of the same route is stored before this request.')
  const { token, summary, differences } = found
  const rows = differences.map(({ what, before, now }) => html`<tr><th scope="row">${what}</th>` +
    html`<td class="text a">${before}</td><td class="text b">${now}</td></tr>`)
  const title = 'Differences from the last success'
  return html`<section class="differences"><h2>${title} ` +
    html`<a href="${base}/${summary.token}"><code>${summary.token}</code></a></h2>` +
    html`<p class="facts">!${statusBadge(summary.status)} ${summary.method} ${shown(summary.url)}, ` +
    html`!${moment(summary.time)}</p>!${rows.length === 0 ? note(NO_DIFFERENCE) : table(title, HEADS, rows, 'sides')}` +
    html`<p class="pages"><a href="${base}/${summary.token}/compare/${token}">All differences</a>` +
    html`!${isReplayable ? html` <a href="${base}/${token}/replay">Replay…</a>` : ''}</p></section>`
}

const HEADS = ['What', 'Before', 'Now']

function pathOf (url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#][^]*$/, '')
}

function shown (text: string): string {
  return visibleLine(cut(text, MAX_VALUE))
}
