import { html } from '../../view/html.js'
import { cut, visibleLine } from '../../view/visible.js'
import { moment, note, statusBadge, table } from '../../view/components.js'
import { dataOf, listOf } from '../../parts/part.js'
import type { Profile } from '../../profiler/profile.js'
import type { ProfileStorage } from '../../profiler/storage/storage.js'
import type { ProfileSummary } from '../../profiler/summary.js'
import { flattenPaths, SectionBuilder, type Values } from '../../parts/section-builder.js'
import { splitUrl } from '../../parts/sections.js'

/** The last success of the route of a failure, and how the failure differs from it. */
export interface LastSuccess {
  /** The token of the failure. */
  token: string
  summary: ProfileSummary
  /** The most important first; at most five. */
  differences: Difference[]
}

/** A store, or the profiler with its queue. */
export type ProfileSource = Pick<ProfileStorage, 'search' | 'get'>

const MAX_DIFFERENCES = 5
/** How many older profiles are searched for a success. */
const MAX_OLDER = 50
const MAX_MESSAGE = 10_000
const MAX_VALUE = 200
/** Characters that are the same in both before a difference. */
const MAX_SHARED = 40
export const NO_DIFFERENCE =
  'Request, session, user, outgoing calls, code revision, configuration and versions are the same.'

/** Whether a request failed: something was thrown, or the status is that of an error. */
export function hasFailed ({ exceptions, status }: Profile): boolean {
  return status >= 400 || listOf(exceptions).length > 0
}

/**
 * Compares a profile with the newest success of the same route and method before it; null where none is stored. Where
 * no route matched, with that of the same path.
 */
export async function lastSuccess (source: ProfileSource, profile: Profile): Promise<LastSuccess | null> {
  const { route, time, method, url, token } = profile
  const { path } = splitUrl(url)
  const same = route === null ? { url: path.slice(-500) } : { route: route.name }
  const criteria = { error: false, method, until: Date.parse(time), ...same }
  const { profiles } = await source.search({ criteria, limit: MAX_OLDER })
  // Among profiles of the same millisecond, the order of the store counts.
  const older = profiles.slice(profiles.findIndex((one) => one.token === token) + 1)
  const summary = older.find((one) => one.status < 400 && (route !== null || splitUrl(one.url).path === path))
  // The store may have evicted it since the search.
  const success = summary && await source.get(summary.token)
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
    html`<td class="text" data-side="Before">${before}</td><td class="text" data-side="Now">${now}</td></tr>`)
  const title = 'Differences from the last success'
  const list = rows.length === 0 ? note(NO_DIFFERENCE) : table(title, ['What', 'Before', 'Now'], rows, 'sides')
  return html`<section class="differences"><h2>${title} ` +
    html`<a href="${base}/${summary.token}"><code>${summary.token}</code></a></h2>` +
    html`<p class="facts">!${statusBadge(summary.status)} ${summary.method} ${shown(summary.url)}, ` +
    html`!${moment(summary.time)}</p>!${list}` +
    html`<p class="pages"><a href="${base}/${summary.token}/compare/${token}">All differences</a>` +
    html`!${isReplayable ? html` <a href="${base}/${token}/replay">Replay…</a>` : ''}</p></section>`
}

function shown (text: string): string {
  return visibleLine(cut(text, MAX_VALUE))
}

/** A difference of a failure from a success. */
export interface Difference {
  what: string
  before: string
  now: string
}

const ABSENT = 'absent'
const BODY = 'request body'

/** The values that may explain a failure, by importance. `other` is the profile to compare with. */
const GROUPS: ReadonlyArray<(profile: Profile, other: Profile) => Values> = [
  ({ route }) => ({ route: route?.name ?? 'none' }),
  resultsOfCalls,
  valuesOfBody,
  ({ url }) => flattenPaths(splitUrl(url).query, 'query parameter'),
  ({ route }) => flattenPaths(route?.params, 'route parameter'),
  (profile) => flattenPaths(dataOf(profile, 'request').headers, 'header'),
  (profile) => flattenPaths(dataOf(profile, 'session').keys, 'session value'),
  userOf,
  environmentOf
]
/** Headers that differ with the client and its network: they are shown last. */
const CLIENT_HEADER = new RegExp('^header (?:user-agent|accept|accept-(?:language|encoding)|host|referer|origin|' +
  'dnt|pragma|priority|cache-control|upgrade-insecure-requests|via|forwarded|x-real-ip|(?:sec|x-forwarded)-.*)$')

/** The differences without volatile ones: the first of each group before the second of any. */
function orderedDifferences (success: Profile, failure: Profile): Difference[] {
  const groups = GROUPS.map((valuesOf) =>
    differencesOf(valuesOf(success, failure), valuesOf(failure, success), success, failure))
  const isOfClient = ({ what }: Difference): boolean => CLIENT_HEADER.test(what)
  const others = groups.map((group) => group.filter((one) => !isOfClient(one)))
  return [
    ...others.flatMap((group) => group.slice(0, 1)),
    ...others.flatMap((group) => group.slice(1)),
    ...groups.flat().filter(isOfClient)
  ]
}

/** Values that the message of the failure names, then those that are missing, then those of another type. */
function differencesOf (before: Values, now: Values, success: Profile, failure: Profile): Difference[] {
  const builder = new SectionBuilder('', '', [success.token, failure.token])
  builder.values(before, now)
  const isNamed = namedBy(failure)
  return builder.section.differences
    .map(({ what, kind, a, b }) => {
      // A call that was not sent explains less than one that has another result.
      const isCall = what.startsWith('outgoing ')
      const usual = kind === 'only-a' && !isCall ? 1 : kind === 'changed' && typeof a !== typeof b ? 2 : 3
      const order = isNamed(what, b) ? 0 : kind === 'only-a' && isCall ? 4 : usual
      // In a body the number 2 and the text "2" are different.
      const text = what.startsWith(BODY) ? jsonOf : textOf
      const absent = isCall ? 'not sent' : ABSENT
      const [before, now] = [kind === 'only-b' ? absent : text(a), kind === 'only-a' ? absent : text(b)]
      return { order, difference: { what, before, now } }
    })
    .sort((one, other) => one.order - other.order)
    .map(({ difference }) => difference)
}

/** Returns the function that tests whether the messages of a failure have a field's name or value as a word. */
function namedBy ({ exceptions }: Profile): (what: string, value: unknown) => boolean {
  const message = listOf(exceptions).map((one) => String(one.message)).join('\n').slice(0, MAX_MESSAGE).toLowerCase()
  const words = new Set(message.split(/[^\w$-]+/).filter((word) => word.length > 1))
  return (what, value) => {
    const name = what.replace(/\[\d+\]$/, '').split(/[. ]/).at(-1) ?? ''
    return words.has(name.toLowerCase()) || words.has(textOf(value ?? '').toLowerCase())
  }
}

/** The statuses and errors of the calls to each address. Calls whose paths have other numbers are compared. */
function resultsOfCalls (profile: Profile): Values {
  const results = new Map<string, string>()
  for (const { method, url, status, error } of listOf(dataOf(profile, 'http-client').calls)) {
    const { origin = '', path } = splitUrl(String(url))
    const name = `outgoing ${String(method)} ${origin}${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\d+/gi, '*')}`
    const result = error === undefined ? String(status ?? 'pending') : String(error) || 'failed'
    const earlier = results.get(name)
    results.set(name, earlier === undefined ? result : `${earlier}, ${result}`)
  }
  return Object.fromEntries(results)
}

// Fields are compared only with fields: otherwise each of them would be a difference.
function valuesOfBody (profile: Profile, other: Profile): Values {
  const [body, otherBody] = [bodyOf(profile), bodyOf(other)]
  const haveFields = [body, otherBody].every((one) => typeof one === 'object' && one !== null)
  return haveFields ? flattenPaths(body, BODY) : { [BODY]: body ?? undefined }
}

function bodyOf (profile: Profile): unknown {
  const { body, bodyNote } = dataOf(profile, 'request')
  return bodyNote ?? body
}

function userOf (profile: Profile): Values {
  const { user = dataOf(profile, 'request').user, roles } = dataOf(profile, 'security')
  return flattenPaths({ ...Object(user) as object, roles }, 'user')
}

/** Code, configuration and versions. */
function environmentOf (profile: Profile): Values {
  const { revision, mode, lifecycle, node, fastify, hindsight, dependencies, id } = dataOf(profile, 'config')
  const versions = String(dependencies ?? '').split(' ').filter((word) => word !== '')
    .map((word) => word.split(/@(?=[^@]*$)/)).map(([name, version]) => [`dependency ${name}`, version])
  return {
    'code revision (git)': revision,
    'configuration NODE_ENV': mode,
    'Node.js': node,
    'configuration lifecycle': lifecycle,
    Fastify: fastify,
    Hindsight: hindsight,
    ...Object.fromEntries(versions) as Values,
    // It covers the options, which are not stored.
    'configuration id': id
  }
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : jsonOf(value)
}

function jsonOf (value: unknown): string {
  return cut(JSON.stringify(value) ?? ABSENT, 10_000)
}
