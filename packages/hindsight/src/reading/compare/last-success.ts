import { cutText, html, visibleLine, type SafeHtml } from '../../view/text.js'
import { ageElement, formatTime, noteText, pathOf, statusBadge, markupTable, withCode } from '../../view/components.js'
import { byOrder, listOf, resultsOf, splitUrl } from '../../parts/read.js'
import { parts as internalParts } from '../../parts/index.js'
import type { DifferenceGroup, Part, PartTime } from '../../parts/part.js'
import { Section, type Values } from '../../parts/section.js'
import { isMeasured, isSuccess, shownOutcome, type Profile, type ProfileSummary } from '../../store/profile.js'
import type { ProfileStorage } from '../../store/storage.js'

/** The last success of the route of a failure, or the last fast one of a slow success, and how it differs from that. */
export interface LastSuccess {
  token: string
  summary: ProfileSummary
  title: string
  /** Why a success is compared. */
  why?: string
  /** Whether it is a job, which cannot be sent again. */
  isOfJob: boolean
  /** The most important first; at most five. */
  differences: ShownDifference[]
}

/** A store, or the profiler with its queue. */
export type ProfileSource = Pick<ProfileStorage, 'search' | 'get'>

const MAX_DIFFERENCES = 5
/** How many older profiles are searched for a success. */
const MAX_OLDER = 50
/** A success is slow if it took so many times the median of at least so many earlier ones, and so many milliseconds. */
const SLOW = { factor: 3, atLeast: 5, milliseconds: 20 }
/** Of the time by which a slow success took longer than a fast one. */
const MIN_SHARE = 0.05
const MAX_MESSAGE = 10_000
const MAX_VALUE = 200
/** Characters that are the same in both before a difference. */
const MAX_SHARED = 40
/** Where no difference is listed: calls that only the success has sent are effects, and are left out. */
export const NO_CAUSE = 'No difference was found that may be a cause.'

/**
 * Compares a profile with the newest success of the same route and method before it; null where none is stored. Where
 * no route matched, with that of the same path.
 */
export async function lastSuccess (
  source: ProfileSource, profile: Profile, parts: readonly Part[] = internalParts
): Promise<LastSuccess | null> {
  const [summary] = await olderSuccesses(source, profile)
  // The store may have evicted it since the search.
  const success = summary && await source.get(summary.token)
  if (summary === undefined || success === undefined) return null
  const differences = shortened(orderedDifferences(success, profile, parts))
  const isOfJob = profile.kind !== undefined
  return { token: profile.token, summary, title: 'Differences from the last success', isOfJob, differences }
}

/** Compares a success that is slow for its route with the newest fast one before it; null for any other profile. */
async function lastFast (
  source: ProfileSource, profile: Profile, parts: readonly Part[] = internalParts
): Promise<LastSuccess | null> {
  const { duration, route, token } = profile
  if (route === null || duration < SLOW.milliseconds || profile.collectors.cpu !== undefined) return null
  const older = (await olderSuccesses(source, profile)).filter((one) => !isMeasured(one))
  const median = older.map((one) => one.duration).sort((a, b) => a - b)[Math.floor(older.length / 2)] ?? 0
  if (older.length < SLOW.atLeast || duration < median * SLOW.factor) return null
  const summary = older.find((one) => one.duration <= median)
  const fast = summary && await source.get(summary.token)
  if (summary === undefined || fast === undefined) return null
  const others = orderedDifferences(fast, profile, parts)
  const differences = shortened([...slowerParts(fast, profile, parts), ...others])
  const times = Math.round(duration / median)
  const why = `It took ${formatTime(duration)}: ${times} times the median of this route, ${formatTime(median)}.`
  return { token, summary, title: 'Differences from the last fast request', why, isOfJob: false, differences }
}

/** Successes of the same route and method before a profile, the newest first. */
async function olderSuccesses (source: ProfileSource, profile: Profile): Promise<ProfileSummary[]> {
  const { route, time, method, url, token } = profile
  const { path } = splitUrl(url)
  const same = route === null ? { url: path.slice(-500) } : { route: route.name }
  const criteria = { error: false, method, until: Date.parse(time), ...same }
  const { profiles } = await source.search({ criteria, limit: MAX_OLDER })
  // Among profiles of the same millisecond, the order of the store counts.
  const older = profiles.slice(profiles.findIndex((one) => one.token === token) + 1)
  return older.filter((one) => one.status < 400 && (route !== null || splitUrl(one.url).path === path))
}

function shortened (differences: readonly ShownDifference[]): ShownDifference[] {
  return differences.slice(0, MAX_DIFFERENCES).map(({ what, before, now }) => {
    // Long texts are shown from where they begin to differ.
    const at = `${before}\n`.split('').findIndex((character, i) => character !== now[i])
    const from = (text: string): string => shown(at > 2 * MAX_SHARED ? `…${text.slice(at - MAX_SHARED)}` : text)
    return { what: shown(what), before: from(before), now: from(now) }
  })
}

/** What took longer than in a fast request, the largest difference first. */
function slowerParts (fast: Profile, slow: Profile, parts: readonly Part[]): ShownDifference[] {
  const timesOf = (profile: Profile, other: Profile) => new Map(
    resultsOf(parts, profile, (part, data) => part.times?.(data, profile, other)).map((one) => [one.name, one]))
  const before = timesOf(fast, slow)
  const least = (slow.duration - fast.duration) * MIN_SHARE
  return [...timesOf(slow, fast).values()]
    .map((now) => ({ now, earlier: before.get(now.name), more: now.time - (before.get(now.name)?.time ?? 0) }))
    .filter(({ more }) => more >= least)
    .sort((a, b) => b.more - a.more)
    .map(({ now, earlier }) => ({ what: now.name, before: timeText(earlier), now: timeText(now) }))
}

export function timeText (one?: PartTime): string {
  if (one === undefined) return NONE
  if (one.count === undefined) return formatTime(one.time)
  return `${one.count} ×, ${formatTime(one.time)}`
}

/**
 * The last success of the route of a failure, or the last fast request of the route of a slow success; null for any
 * other success.
 */
export async function successOf (
  source: ProfileSource, profile: Profile, parts?: readonly Part[]
): Promise<LastSuccess | null> {
  if (isSuccess(profile)) return await lastFast(source, profile, parts)
  return await lastSuccess(source, profile, parts)
}

/** The differences as a fragment of HTML; `base` is the path of the profiler's routes. */
export function renderDifferences (found: LastSuccess | null, base: string, isReplayable = true): SafeHtml {
  if (found === null) return noteText('No success of the same route is stored before this request.')
  const { token, summary, title, why, isOfJob, differences } = found
  const rows = differences.map(({ what, before, now }) => html`<tr><th scope="row">${withCode(what, null)}</th>\
<td class="text" data-label="Before">${before}</td><td class="text" data-label="Now">${now}</td></tr>`)
  const columns = ['What', 'Before', 'Now']
  const list = rows.length === 0 ? noteText(NO_CAUSE) : markupTable(title, columns, rows, 'sides')
  const { status, method, url, time, error } = summary
  return html`<section class="differences"><h2>${title}</h2><p class="facts">\
<a href="${base}/${summary.token}">${summary.token}</a> ${statusBadge(status, shownOutcome(summary), error)} ${method} \
${shown(pathOf(url))}, ${ageElement(time)}</p>${why !== undefined && html`<p>${why}</p>`}${list}\
<p class="pages"><a href="${base}/${summary.token}/compare/${token}">All differences</a>\
${isReplayable && !isOfJob && html` <a href="${base}/${token}/replay">Replay…</a>`}</p></section>`
}

function shown (text: string): string {
  return visibleLine(cutText(text, MAX_VALUE))
}

export type ShownDifference = Record<'what' | 'before' | 'now', string>

const ABSENT = 'absent'
const NONE = 'none'

/** The differences without volatile ones: the first of each group before the second of any. */
function orderedDifferences (success: Profile, failure: Profile, parts: readonly Part[]): ShownDifference[] {
  const groups = parts.flatMap((part) => (part.differences ?? []).map((group) => ({ part, group })))
    .sort((a, b) => byOrder(a.group, b.group))
    .map(({ part, group }) => differencesOf(part, group, success, failure))
  return [...groups.flatMap((group) => group.slice(0, 1)), ...groups.flatMap((group) => group.slice(1))]
    .map(({ order: _, ...difference }) => difference)
}

/** Values that the message of the failure names, then those that are missing, then those of another type. */
function differencesOf (
  part: Part, { values, absent, isExact = false, isOfClient }: DifferenceGroup, success: Profile, failure: Profile
): Array<ShownDifference & { order: number }> {
  const builder = new Section('', '', [success.token, failure.token])
  const valuesOf = (profile: Profile, other: Profile): Values =>
    resultsOf<Values>([part], profile, (_, data) => values(data, profile, other))[0] ?? {}
  builder.values(valuesOf(success, failure), valuesOf(failure, success))
  const isNamed = namedBy(failure)
  const textIn = isExact ? jsonOf : textOf
  return builder.differences
    .filter(({ what }) => isOfClient?.(what, failure) !== true || isNamed(what, null))
    .map(({ what, kind, a, b }) => {
      const isMissing = kind === 'only-a'
      let order = 3
      if (isNamed(what, b)) order = 0
      else if (isMissing) order = 1
      else if (kind === 'changed' && typeof a !== typeof b) order = 2
      const before = kind === 'only-b' ? absent ?? ABSENT : textIn(a)
      const now = isMissing ? absent ?? ABSENT : textIn(b)
      return { order, what, before, now }
    })
    .sort((one, other) => one.order - other.order)
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

function textOf (value: unknown): string {
  if (typeof value === 'string') return value
  return jsonOf(value)
}

function jsonOf (value: unknown): string {
  return cutText(JSON.stringify(value) ?? ABSENT, 10_000)
}
