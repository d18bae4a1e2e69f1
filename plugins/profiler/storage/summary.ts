import type { Profile, ProfileDraft } from '../profile.js'

/** What a list shows of a profile, without reading the profile. */
export interface ProfileSummary {
  token: string
  /** ISO 8601, when the request arrived. */
  time: string
  method: string
  /** Absolute, with its query; at most 2,000 characters. */
  url: string
  status: number
  ip: string
  /** Milliseconds. */
  duration: number
  /** Whether something was raised, or the answer was a server error. */
  error: boolean
  /** The name of the route; null where none matched. */
  route: string | null
  /** Name and message of the error that the response was about; null where nothing was raised. */
  exception: string | null
  /** How many log lines were warnings or worse. */
  warnings: number
  /** The token of the request that caused this one; null where none did. */
  parent: string | null
  pinned: boolean
}

/** What an engine indexes of a profile: its summary, and text that is searched but not shown. */
export interface IndexEntry {
  summary: ProfileSummary
  /** Names and messages of the whole chain, one exception a line, root cause first; empty where nothing was raised. */
  exceptions: string
}

const MAX_URL = 2_000
const MAX_EXCEPTION = 300
const MAX_EXCEPTIONS = 3_000
const WARNINGS = new Set(['warn', 'error', 'fatal'])

/** Whether a profile is one that people will come back for. */
export function isFailure (profile: Profile | ProfileDraft): boolean {
  return listOf(profile.exceptions).length > 0 || profile.status >= 500
}

/** The part of a profile that lists show. */
export function summarize (profile: Profile | ProfileDraft, pinned = false): ProfileSummary {
  const { token, time, method, url, status, ip, duration } = profile
  const last = listOf(profile.exceptions).at(-1)
  return {
    token,
    time,
    method,
    url: String(url).slice(0, MAX_URL),
    status,
    ip,
    duration,
    error: isFailure(profile),
    route: profile.route?.name ?? null,
    exception: last === undefined ? null : line(last),
    warnings: listOf(profile.logs).reduce((sum, record) => sum + (WARNINGS.has(record.level) ? 1 : 0), 0),
    parent: profile.parent ?? null,
    pinned
  }
}

/** The part of a profile that searches read. */
export function indexEntry (profile: Profile | ProfileDraft, pinned = false): IndexEntry {
  return { summary: summarize(profile, pinned), exceptions: listOf(profile.exceptions).map(line).join('\n').slice(0, MAX_EXCEPTIONS) }
}

// A profile of another version may have anything in its fields.
function listOf<T> (value: readonly T[] | undefined): readonly T[] {
  return Array.isArray(value) ? (value as T[]).filter((item) => item !== null && typeof item === 'object') : []
}

function line ({ name, message }: { name: string, message: string }): string {
  return `${name}: ${message}`.replace(/\s+/g, ' ').slice(0, MAX_EXCEPTION)
}
