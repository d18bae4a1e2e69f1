import { percentDecoded } from '../http/header-text.js'
import { mainCause } from '../errors/root-cause.js'
import { read } from '../errors/thrown-value.js'
import { isWarningOrWorse } from '../logs/log-record.js'
import { parts as ownParts } from '../parts/index.js'
import type { Part } from '../parts/part.js'
import { problemsOf, valuesOf } from '../parts/read.js'
import { isFailure, type Profile, type ProfileSummary } from './profile.js'

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
function isUnasked ({ status, route, url }: Profile): boolean {
  const path = url.replace(/[?#][^]*$/, '')
  const mayBe = status < 400 || (status === 404 && (route === null || ANY_FILE.test(route.pattern)))
  return mayBe && UNASKED.test(percentDecoded(path) ?? path)
}

/** The part of a profile that lists show. */
export function summarize (profile: Profile, pinned = false): ProfileSummary {
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
    error: isFailure(profile),
    route: route?.name ?? null,
    exception: cause === null ? null : lineOf(`${cause.name}: ${cause.message}`),
    warnings: logs.filter(isWarningOrWorse).length,
    parent,
    pinned
  }
}

/** A profile as an engine receives it. */
export function recordOf (profile: Profile): ProfileRecord {
  return recordWith(ownParts, profile)
}

/** A profile as an engine receives it, with the values of the parts of its application. */
export function recordWith (parts: readonly Part[], profile: Profile): ProfileRecord {
  const found = parts.flatMap((part) => Object.entries(part.search ?? {}).map(([name, criterion]) => {
    const valueOf = typeof criterion === 'function' ? criterion : criterion.valueOf
    const texts = valuesOf(part, profile, valueOf).map((value) => lineOf(String(value)))
    return [name, texts] as const
  }))
  const linesOf = (wanted: string): string[] => found.flatMap(([name, lines]) => name === wanted ? lines : [])
  const exceptions = linesOf(EXCEPTION).join('\n').slice(0, MAX_EXCEPTIONS)
  // No criterion of an application has a capital letter in its name.
  const { followOf, collectors: { request } } = profile
  const refererUrl = read(read(request, 'headers'), 'referer')
  const noise = isUnasked(profile) ? { isNoise: 1 } : { issues: hasIssues(parts, profile) ? 'yes' : undefined }
  const marks = Object.entries({ followOf, ...noise, refererUrl })
    .map(([name, value]) => [name, value === undefined ? [] : [lineOf(String(value))]] as const)
  const values = Object.fromEntries([...found, ...marks].flatMap(([name, lines]) =>
    name === EXCEPTION || lines.length === 0 ? [] : [[name, lines.join(', ').slice(0, MAX_LINE)]]))
  const summary = { ...summarize(profile), ...Object.keys(values).length > 0 && { values } }
  return { summary, exceptions, json: JSON.stringify(profile) }
}

/** Whether the panel of a part shows an error or a warning. */
function hasIssues (parts: readonly Part[], profile: Profile): boolean {
  return parts.some((part) => Object.values(problemsOf(part, profile)).some((count) => count > 0))
}

function lineOf (text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, MAX_LINE)
}
