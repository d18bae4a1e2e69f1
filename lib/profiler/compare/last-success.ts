import { html } from '../../view/html.js'
import { cut, visibleLine } from '../../view/visible.js'
import { moment, note, statusBadge, table } from '../pages/components.js'
import { listOf, dataOf, isFailedCall, isObject } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import type { Criteria } from '../storage/criteria.js'
import type { Awaitable, ProfilePage, ProfileStorage, SearchOptions } from '../storage/storage.js'
import { isFailure, type ProfileSummary } from '../summary.js'
import { align } from './diff.js'
import { leavesOf, SectionBuilder } from './section-builder.js'
import { splitUrl } from './sections.js'

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

/** What a failure has that the last success has not, or the reverse. */
export interface Difference {
  what: string
  before: string
  now: string
}

const BODY = 'request body'
/** The values of a request in the order in which they explain a failure. */
const VALUES: ReadonlyArray<readonly [what: string, read: (profile: Profile) => unknown]> = [
  [BODY, bodyOf],
  ['query parameter', ({ url }) => splitUrl(url).query],
  ['route parameter', ({ route }) => route?.params],
  ['header', (profile) => dataOf(profile, 'request').headers],
  ['session', sessionOf],
  ['user', userOf]
]
/** Headers that follow from the body, from an earlier response or from the connection. */
const DERIVED_HEADERS = new Set([
  'content-length', 'connection', 'if-none-match', 'if-modified-since', 'idempotency-key'
])
/** Headers that differ with the client and its network: they are shown last. */
const CLIENT_HEADERS = new RegExp('^header (?:user-agent|accept|accept-(?:language|encoding)|host|referer|origin|' +
  'dnt|pragma|priority|cache-control|upgrade-insecure-requests|via|forwarded|x-real-ip|(?:sec|x-forwarded)-.*)$')
/** The names of what is around the request. */
const ENVIRONMENT = [
  ['revision', 'code revision (git)'], ['mode', 'configuration NODE_ENV'], ['node', 'Node.js'],
  ['lifecycle', 'configuration lifecycle'], ['fastify', 'Fastify'], ['hindsight', 'Hindsight']
] as const
const MAX_MESSAGE = 10_000
const MAX_CALLS = 200
const NONE = 'absent'

/**
 * The differences between a success and a later failure of the same route, without volatile ones: the first of each
 * group before the second of any.
 */
function orderedDifferences (success: Profile, failure: Profile): Difference[] {
  const values = VALUES.map(([what, read]) => valueDifferences(what, read, success, failure))
  const isOfClient = ({ what }: Difference): boolean => CLIENT_HEADERS.test(what)
  const groups = [
    routeDifference(success, failure),
    callDifferences(success, failure),
    ...values.map((group) => group.filter((one) => !isOfClient(one))),
    environmentDifferences(success, failure)
  ]
  return [
    ...groups.flatMap((group) => group.slice(0, 1)),
    ...groups.flatMap((group) => group.slice(1)),
    ...values.flat().filter(isOfClient)
  ]
}

/** Values that the message of the failure names, then those that are missing, then those of another type. */
function valueDifferences (
  group: string, read: (profile: Profile) => unknown, success: Profile, failure: Profile
): Difference[] {
  const isNamed = namedBy(failure)
  const section = new SectionBuilder('', '', [success.token, failure.token])
  const [one, other] = [read(success) ?? undefined, read(failure) ?? undefined]
  if (group === BODY && !(isNested(one) && isNested(other))) section.value(BODY, one, other)
  else section.values(leavesOf(one, group), leavesOf(other, group))
  const text = group === BODY ? jsonOf : textOf
  return section.section.differences
    .map(({ what, kind, a, b }) => {
      const name = what.slice(group.length).trim()
      const usual = kind === 'only-a' ? 1 : kind === 'changed' && typeof a !== typeof b ? 2 : 3
      const before = kind === 'only-b' ? NONE : text(a)
      const now = kind === 'only-a' ? NONE : text(b)
      return { name, order: isNamed(name, b) ? 0 : usual, difference: { what, before, now } }
    })
    .filter(({ name }) => group !== 'header' || !DERIVED_HEADERS.has(name))
    .sort((a, b) => a.order - b.order)
    .map(({ difference }) => difference)
}

/** Returns the function that tests whether the messages of a failure have a field's name or value as a word. */
function namedBy ({ exceptions }: Profile): (name: string, value: unknown) => boolean {
  const message = listOf(exceptions).map((one) => String(one.message)).join('\n').slice(0, MAX_MESSAGE).toLowerCase()
  const words = new Set(message.split(/[^\w$-]+/).filter((word) => word.length > 1))
  return (name, value) => {
    const last = name.slice(name.lastIndexOf('.') + 1).replace(/\[\d+\]$/, '')
    return words.has(last.toLowerCase()) || words.has(textOf(value ?? '').toLowerCase())
  }
}

function bodyOf (profile: Profile): unknown {
  const { body, bodyNote } = dataOf(profile, 'request')
  return bodyNote ?? body
}

function sessionOf (profile: Profile): unknown {
  const { used, cookie, keys } = dataOf(profile, 'session')
  return { used, cookie, ...isObject(keys) && { value: keys } }
}

function userOf (profile: Profile): unknown {
  const { user, roles } = dataOf(profile, 'security')
  const { identifier, attributes } = isObject(user) ? user : {}
  return user === undefined ? dataOf(profile, 'request').user : { identifier, roles, attributes }
}

function routeDifference (success: Profile, failure: Profile): Difference[] {
  const [before, now] = [success.route?.name ?? 'none', failure.route?.name ?? 'none']
  return before === now ? [] : [{ what: 'route', before, now }]
}

/** Calls to other servers with another result, those that fail now first. */
function callDifferences (success: Profile, failure: Profile): Difference[] {
  const callsOf = (profile: Profile) => listOf(dataOf(profile, 'http-client').calls).slice(0, MAX_CALLS).map((call) => {
    const { method, url, status, error } = call
    const { origin = '', path } = splitUrl(String(url))
    const name = `${String(method)} ${origin}${path}`
    const result = error === undefined ? String(status ?? 'pending') : String(error) || 'failed'
    // The key is the same for calls to the same route.
    return { key: name.replace(/\d+|[0-9a-f]{8}-[0-9a-f-]{27}/gi, '0'), name, result, failed: isFailedCall(call) }
  })
  return align(callsOf(success), callsOf(failure), ({ key }) => key)
    .filter(([before, now]) => before?.result !== now?.result)
    .sort(([, one], [, other]) => Number(other?.failed ?? false) - Number(one?.failed ?? false))
    .map(([before, now]) => ({
      what: `outgoing ${(now ?? before)?.name}`,
      before: before?.result ?? 'not sent',
      now: now?.result ?? 'not sent'
    }))
}

/** Code, configuration and versions. */
function environmentDifferences (success: Profile, failure: Profile): Difference[] {
  const [before, now] = [dataOf(success, 'config'), dataOf(failure, 'config')]
  const versions = leavesOf(versionsOf(before.dependencies), 'dependency')
  const newVersions = leavesOf(versionsOf(now.dependencies), 'dependency')
  // They are recorded in debug mode only.
  const hasVersions = Object.keys(versions).length > 0 && Object.keys(newVersions).length > 0
  const names = hasVersions ? Object.keys({ ...versions, ...newVersions }) : []
  const compared: ReadonlyArray<readonly [what: string, before: unknown, now: unknown]> = [
    ...ENVIRONMENT.map(([field, what]) => [what, before[field], now[field]] as const),
    ...names.map((name) => [name, versions[name] ?? NONE, newVersions[name] ?? NONE] as const)
  ]
  const found = compared.filter(([, one, other]) => one !== undefined && other !== undefined && one !== other)
  // The options themselves are not stored.
  const hasOtherOptions = before.id !== undefined && now.id !== undefined && before.id !== now.id
  if (found.length === 0 && hasOtherOptions) {
    found.push(['configuration (options of Fastify or Hindsight)', before.id, now.id])
  }
  return found.map(([what, one, other]) => ({ what, before: textOf(one), now: textOf(other) }))
}

/** Versions by the names of dependencies, from `name@version` texts. */
function versionsOf (dependencies: unknown): Record<string, string> {
  const words = typeof dependencies === 'string' ? dependencies.split(' ') : []
  return Object.fromEntries(words.map((word) => word.split(/@(?=[^@]*$)/)))
}

function isNested (value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : jsonOf(value)
}

function jsonOf (value: unknown): string {
  return cut(JSON.stringify(value) ?? NONE, 10_000)
}
