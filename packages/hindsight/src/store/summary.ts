import { attemptCall, cachedByObject } from '../call.js'
import { mainCause, type FlattenedException } from '../errors/exception.js'
import { percentDecoded } from '../http/requests.js'
import { isWarningOrWorse, linesLeftOut, mostSevere, type LogRecord } from '../logs/log-record.js'
import { plainCopy } from '../parts/collect.js'
import { parts as allParts } from '../parts/index.js'
import type { Part } from '../parts/part.js'
import { dataOf, labelOf, problemsOf, valuesOf } from '../parts/read.js'
import { formatSize } from '../view/components.js'
import { formatCount, cutText } from '../view/text.js'
import { cutOffStatus, isFailure, ISSUE_SEPARATOR, type Profile, type ProfileSummary } from './profile.js'

/** The indexed data of a profile: its summary, and text that is searched but not shown. */
export interface IndexEntry {
  summary: ProfileSummary
  /** Names and messages, one exception a line: of the chain, root cause first, then of other errors; may be empty. */
  exceptions: string
}

/** A profile as an engine receives it: what to index, and the whole profile as JSON. */
export interface ProfileRecord extends IndexEntry {
  json: string
  /** Whether it takes the place of the stored profile with its token; by default it becomes the newest. */
  keepsPlace?: boolean
}

const EXCEPTION = 'exception'
const MAX_URL = 2_000
const MAX_LINE = 300
const MAX_EXCEPTIONS = 3_000

/** The paths of what browsers and their tools request of any server. */
const UNASKED = new RegExp('^[^?#]*/(?:' + [
  'favicon\\.ico',
  'apple-touch-icon[^/?#]*\\.png',
  '\\.well-known/appspecific/[^?#]*',
  '[^/?#]+\\.\\w+\\.map',
  '(?:[\\w-]+-)?sw\\.js|(?:ngsw-|service[-_]?)worker\\.js',
  'manifest\\.json|[^/?#]+\\.webmanifest'
].join('|') + ')(?:[?#]|$)', 'i')
/** A pattern whose last segment has a wildcard or a parameter; `::` is a colon. */
const ANY_FILE = /(?:\*|(?<!:):(?!:))[^/]*$/

/** Whether browsers request the path of any server, and it succeeded, or was not found and no route declares it. */
function isUnasked (profile: Profile): boolean {
  const { status, route, url } = profile
  const path = url.replace(/[?#][^]*$/, '')
  const isMissing = status === 404 && !hasOtherError(profile) && (route == null || ANY_FILE.test(route.pattern))
  const mayBe = isMissing || (status < 400 && !isFailure(profile))
  return mayBe && UNASKED.test(percentDecoded(path) ?? path)
}

/** Whether another error was raised than one with the status 404. */
function hasOtherError (profile: Profile): boolean {
  const last = profile.exceptions.at(-1)
  return profile.collectors.otherErrors !== undefined || (last !== undefined && last.statusCode !== 404)
}

/** The part of a profile that lists show. */
export function summarizeProfile (profile: Profile): ProfileSummary {
  const { token, time, method, url, status, ip, duration, route, parent = null, logs } = profile
  const cause = mainCause(profile)
  return {
    token,
    time,
    method,
    url: url.slice(0, MAX_URL),
    status,
    // An IPv4-mapped address (RFC 4291, section 2.5.5.2) is the same as the IPv4 address.
    ip: ip.replace(/^::ffff:(?=\d+\.)/i, ''),
    duration,
    error: isFailure(profile) && !isUnasked(profile),
    route: route?.name ?? null,
    exception: cause === null ? null : summaryLine(`${cause.name}: ${cause.message}`),
    warnings: logs.filter((line) => isWarningOrWorse(line) && linesLeftOut(line) === 0).length,
    parent,
    pinned: false
  }
}

/** A profile as an engine receives it. */
export function recordOf (profile: Profile): ProfileRecord {
  return recordWith(allParts, profile)
}

type Reading = (data: any, profile: Profile) => unknown

/** What parts add to the search, in their order: this runs for each profile. */
const searchesOf = cachedByObject((parts: readonly Part[]) => parts.flatMap((part) =>
  Object.entries(part.search ?? {}).map(([name, criterion]) => {
    const valueOf: Reading = typeof criterion === 'function' ? criterion : criterion.valueOf
    return { part, name, valueOf }
  })))

/** A profile as an engine receives it, with the values of the parts of its application. */
function recordWith (parts: readonly Part[], profile: Profile): ProfileRecord {
  const found: Array<[name: string, lines: string[]]> = []
  for (const { part, name, valueOf } of searchesOf(parts)) {
    const lines = valuesOf(part, profile, valueOf).map((value) => summaryLine(String(value)))
    if (lines.length > 0) found.push([name, lines])
  }
  const exceptionLines = found.flatMap(([name, lines]) => name === EXCEPTION ? lines : [])
  // No criterion of an application has a capital letter in its name.
  const { followOf } = profile
  const { headers, serverUrl } = dataOf(profile, 'request')
  const { referer: refererUrl } = Object(headers) as { referer?: unknown }
  const noise = isUnasked(profile) ? { isNoise: 1 } : { issues: issuesOf(parts, profile) }
  const isMeasured = 'calls' in dataOf(profile, 'cpu') ? 1 : undefined
  const isCutOff = cutOffStatus(profile) === undefined ? undefined : 1
  for (const [name, value] of Object.entries({ followOf, ...noise, isMeasured, isCutOff, refererUrl, serverUrl })) {
    if (value !== undefined) found.push([name, [summaryLine(String(value))]])
  }
  const shown = found.filter(([name]) => name !== EXCEPTION)
  const values = Object.fromEntries(shown.map(([name, lines]) => [name, lines.join(', ').slice(0, MAX_LINE)]))
  return {
    summary: { ...summarizeProfile(profile), ...shown.length > 0 && { values } },
    exceptions: exceptionLines.join('\n').slice(0, MAX_EXCEPTIONS),
    json: JSON.stringify(profile)
  }
}

/** What the parts of a profile show as wrong; `yes` where exception or status say it. Undefined: nothing. */
function issuesOf (parts: readonly Part[], profile: Profile): string | undefined {
  if (profile.exceptions.length > 0) return 'yes'
  const issues = parts.flatMap((part) => {
    const issue = summaryLine(issueOf(part, profile))
    if (issue === '') return []
    return [`${labelOf(part)}: ${issue.replace(/\.$/, '').replaceAll(ISSUE_SEPARATOR, ' - ')}`]
  })
  if (issues.length > 0) return issues.join(ISSUE_SEPARATOR)
  return isFailure(profile) ? 'yes' : undefined
}

function issueOf (part: Part, profile: Profile): string {
  const { issue: issueIn } = part
  const [issue = ''] = issueIn === undefined ? [] : valuesOf(part, profile, issueIn)
  if (issue !== '') return String(issue)
  const { errors, warnings } = problemsOf(part, profile)
  const failed = errors === 0 ? [] : [formatCount(errors, 'error')]
  const warned = warnings === 0 ? [] : [formatCount(warnings, 'warning')]
  return [...failed, ...warned].join(', ')
}

/** A text in one line of a limited length, as summaries have it. */
export function summaryLine (text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, MAX_LINE)
}

/** Characters of a text in a profile that is too large. */
const MAX_STRING = 10_000
/** Characters of a text, if that is not enough. */
const MAX_SHORT_STRING = 500
/** The share of the space of a log that is left to its end, whatever the levels there are. */
const SHARE_OF_END = 1 / 4
const NOTE_BYTES = 350

/** The record of a profile; its JSON has at most `maxBytes`. */
export function boundedRecord (profile: Profile, maxBytes: number, parts: readonly Part[] = allParts): ProfileRecord {
  // It throws for a value without a form in JSON: circular objects, BigInt.
  const record = attemptCall(() => recordWith(parts, profile))
  if (record !== undefined && Buffer.byteLength(record.json) <= maxBytes) return record
  return recordWith(parts, boundProfile(profile, maxBytes))
}

/** A copy of a profile that is plain JSON of at most `maxBytes`: the largest and least important parts are left out. */
export function boundProfile (profile: Profile, maxBytes: number): Profile {
  const bounded = plainCopy(profile, (text) => cutText(text, MAX_STRING)) as Profile
  const reason = `the profile was larger than ${formatSize(maxBytes)}`
  const fitLogs = (least: number): void => {
    const available = maxBytes - bytesOf({ ...bounded, logs: [] })
    bounded.logs = fittingLogs(bounded.logs, Math.max(least, available), reason)
  }
  const steps = [
    () => bounded.exceptions.forEach(dropExcerpts),
    () => fitLogs(maxBytes / 8),
    () => dropLargeCollectors(bounded, maxBytes / 8, reason),
    () => fitLogs(0),
    () => Object.assign(bounded, plainCopy(bounded, (text) => cutText(text, MAX_SHORT_STRING))),
    () => dropLargeCollectors(bounded, 0, reason),
    () => {
      const last = bounded.exceptions.slice(-10)
      bounded.exceptions = last.map(({ errors: _errors, ...one }) => ({ ...one, frames: one.frames.slice(0, 10) }))
      bounded.events = bounded.events.slice(0, 100)
    }
  ]
  for (const step of steps) {
    if (bytesOf(bounded) <= maxBytes) break
    step()
  }
  return bounded
}

/** The lines of a log with at most `maxBytes` of JSON: warnings and errors first, then the newest, and a note. */
export function fittingLogs (lines: readonly LogRecord[], maxBytes: number, reason: string): LogRecord[] {
  // The log may have been shortened before.
  const written = lines.filter((line) => linesLeftOut(line) === 0)
  const shown = mostSevere(written, maxBytes - NOTE_BYTES, (line) => bytesOf(line) + 1, SHARE_OF_END)
  const dropped = lines.reduce((sum, line) => sum + linesLeftOut(line), written.length - shown.length)
  if (dropped === 0) return shown
  const omitted = formatCount(dropped, 'line was', 'lines were')
  const message = `${omitted} left out, of the oldest and least severe: ${reason}.`
  const { time = '', offset = 0 } = shown[0] ?? lines[0] ?? {}
  const context = { linesLeftOut: dropped }
  return [{ time, offset, level: 'warn', channel: 'profiler', message, context }, ...shown]
}

function bytesOf (value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

function dropExcerpts (exception: FlattenedException): void {
  for (const frame of exception.frames) delete frame.excerpt
  exception.errors?.flat().forEach(dropExcerpts)
}

function dropLargeCollectors (profile: Profile, maxBytes: number, reason: string): void {
  for (const [name, data] of Object.entries(profile.collectors)) {
    const bytes = bytesOf(data)
    if (bytes <= Math.max(maxBytes, 200)) continue
    profile.collectors[name] = { error: `${formatSize(bytes)} were left out: ${reason}.` }
  }
}
