import { isWarningOrWorse } from '../logs/log-record.js'
import type { Profile } from './profile.js'
import { storedJson } from './stored-events.js'

/** The fields of a profile that lists show. */
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
  /** Whether something was thrown, or the response was a server error. */
  error: boolean
  /** The name of the route; null where none matched. */
  route: string | null
  /** Name and message of the error that the response was about; null where nothing was thrown. */
  exception: string | null
  /** How many log lines were warnings or worse. */
  warnings: number
  /** The token of the request that caused this one; null where none did. */
  parent: string | null
  pinned: boolean
}

/** The indexed data of a profile: its summary, and text that is searched but not shown. */
export interface IndexEntry {
  summary: ProfileSummary
  /** Names and messages, one exception a line: of the chain, root cause first, then of other errors; may be empty. */
  exceptions: string
}

/** A profile as an engine receives it: what to index, and the whole profile as JSON. */
export interface ProfileRecord extends IndexEntry {
  json: string
}

const MAX_URL = 2_000
const MAX_EXCEPTION = 300
const MAX_EXCEPTIONS = 3_000

/** Whether something was thrown, or the response was a server error. */
export function isFailure (profile: Pick<Profile, 'exceptions' | 'status'>): boolean {
  return profile.exceptions.length > 0 || profile.status >= 500
}

const ICON = /\/(?:favicon\.ico|apple-touch-icon[^/?#]*\.png)(?:[?#]|$)/i

/** Whether a 404 is no problem of the application: browsers request icons of any server. */
export function isNoise ({ status, route, url }: Pick<ProfileSummary, 'status' | 'route' | 'url'>): boolean {
  return status === 404 && route === null && ICON.test(url)
}

/** The part of a profile that lists show. */
export function summarize (profile: Profile, pinned = false): ProfileSummary {
  const { token, time, method, url, status, ip, duration, route, parent = null, logs, exceptions } = profile
  const last = exceptions.at(-1)
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
    exception: last === undefined ? null : line(last),
    warnings: logs.filter(isWarningOrWorse).length,
    parent,
    pinned
  }
}

/** A profile as an engine receives it. */
export function recordOf (profile: Profile): ProfileRecord {
  const { otherErrors } = profile.collectors
  const others = Array.isArray(otherErrors) ? otherErrors.flat() as typeof profile.exceptions : []
  const exceptions = [...profile.exceptions, ...others].map(line).join('\n').slice(0, MAX_EXCEPTIONS)
  return { summary: summarize(profile), exceptions, json: storedJson(profile) }
}

function line ({ name, message }: { name: string, message: string }): string {
  return `${name}: ${message}`.replace(/\s+/g, ' ').slice(0, MAX_EXCEPTION)
}
