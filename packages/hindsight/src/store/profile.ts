import { randomInt } from 'node:crypto'
import createError from '@fastify/error'
import { attemptCall } from '../call.js'
import { mainCause, type FlattenedException } from '../errors/exception.js'
import { withNotifications, type LogRecord } from '../logs/log-record.js'
import type { ListenerEvent } from '../recording/events.js'
import { JOB_KINDS, type JobFacts, type ProfiledRoute } from '../recording/recording.js'

export { JOB_KINDS, type ProfiledRoute }

export const PROFILE_VERSION = 1

/** The form of a profile's token: six lower-case hexadecimal digits. */
export const TOKEN_PATTERN = /^[0-9a-f]{6}$/

/** What became of a job. */
export type Outcome = 'done' | 'failed' | 'running'

/**
 * The recorded data of one request, or of one job: plain, versioned, bounded, masked. That of a job has `kind`, `name`
 * and `outcome`. Its `method` is the kind in capital letters, its `url` the name, its `status` 0, and `ip` is empty.
 */
export interface Profile extends Partial<JobFacts> {
  version: typeof PROFILE_VERSION
  token: string
  /** ISO 8601, when the request arrived. */
  time: string
  /** Milliseconds from arrival to the end of the response, without those that Hindsight took for its page. */
  duration: number
  method: string
  /** Absolute, with its query. */
  url: string
  ip: string
  status: number
  /** The token of the request that caused this one: a redirect that was followed, or a handler that injected it. */
  parent?: string
  /** The token of the parent where that is a redirect that was followed. */
  followOf?: string
  /** The token of the profile whose request was sent again by this one. */
  replayOf?: string
  /** Of a job. */
  outcome?: Outcome
  route: ProfiledRoute | null
  /** From the root cause to the error that the response was about; empty when nothing failed. */
  exceptions: FlattenedException[]
  logs: LogRecord[]
  events: ListenerEvent[]
  collectors: Record<string, unknown>
}

/** What is known of a request before its response is sent: for the toolbar, the hints and the page of a failure. */
export interface UnfinishedProfile
  extends Pick<Profile, 'token' | 'time' | 'status' | 'method' | 'route' | 'duration' | 'exceptions' | 'collectors' |
    'kind'> {
  logs: ReadonlyArray<Pick<LogRecord, 'level' | 'channel'>>
}

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
  /** Whether something was thrown, or the response was a server error; false for a 404 that is noise. */
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
  /**
   * What the parts of the application show in lists, by name, `followOf` of the profile, `isNoise` where it is noise,
   * `issues`, what is wrong, with `ISSUE_SEPARATOR` between, or `yes` where exception or status say it, `refererUrl`,
   * the page that requested it, and `serverUrl`, the address of the server on its machine; absent without such data.
   */
  values?: Record<string, string>
}

/** Stands between the issues of a request. */
export const ISSUE_SEPARATOR = ' · '

/** Milliseconds from which a failure or a refusal is slow: it has sentences about its time. */
export const MIN_SLOW = 100

/** Whether nothing was thrown, and the status is below 400. A 4xx that nothing threw is neither success nor failure. */
export function isSuccess (profile: Pick<Profile, 'exceptions' | 'status'>): boolean {
  return profile.status < 400 && !isFailure(profile)
}

/** Whether something was thrown, or the response was a server error. */
export function isFailure (profile: Pick<Profile, 'exceptions' | 'status'>): boolean {
  return profile.exceptions.length > 0 || profile.status >= 500
}

/** The status of a response with the words that an error has cut it off; undefined for any other profile. */
export function cutOffStatus ({ status, collectors }: Pick<Profile, 'status' | 'collectors'>): string | undefined {
  const { isCutOff } = Object(collectors.exceptions) as { isCutOff?: unknown }
  return isCutOff === true ? `${status}, cut off` : undefined
}

/** What is shown in place of a status: the outcome of a job, or that a response was cut off; undefined: the status. */
export function shownOutcome ({ status, values }: Pick<ProfileSummary, 'status' | 'values'>): string | undefined {
  if (values?.isCutOff !== undefined) return `${status}, cut off`
  return values?.outcome
}

/** Whether the parent of a request is a redirect that was followed. */
export function isFollow ({ values }: ProfileSummary): boolean {
  return values?.followOf !== undefined
}

/** Whether it is the profile of a job. */
export function isJob ({ values }: Pick<ProfileSummary, 'values'>): boolean {
  return values?.outcome !== undefined
}

/** Whether its CPU profile was recorded, which makes a request slower: its time is none of its route. */
export function isMeasured ({ values }: ProfileSummary): boolean {
  return values?.isMeasured !== undefined
}

/** Whether it is for a path that browsers request of any server, and has not failed. */
export function isNoise ({ values }: ProfileSummary): boolean {
  return values?.isNoise !== undefined
}

/** The exception of a profile for a list, which has the method and the URL beside it. */
export function listedException (
  { exception, method, url }: Pick<ProfileSummary, 'exception' | 'method' | 'url'>
): string | null {
  return exception?.replace(` for "${method} ${url}"`, '') ?? null
}

/** A random token. With 10,000 stored profiles, about one request in 1,700 replaces an older profile. */
export function newToken (): string {
  return randomInt(0x1000000).toString(16).padStart(6, '0')
}

const InvalidProfileError = createError('HINDSIGHT_INVALID_PROFILE',
  'The stored profile is not in the format of this version: "%s" must be %s.', 400)

const TYPES = {
  'a string': ['token', 'time', 'method', 'url', 'ip'],
  'a number': ['duration', 'status'],
  'an object': ['collectors'],
  'a list of objects': ['exceptions', 'logs']
} as const

/**
 * A stored profile, with a debug line for each listener that ran. Throws for data that are no profile: a store of the
 * application may hold anything.
 */
export function readProfile (stored: Profile): Profile {
  for (const [type, names] of Object.entries(TYPES)) {
    const invalid = names.find((name) => typeNameOf(stored[name]) !== type)
    if (invalid !== undefined) throw new InvalidProfileError(invalid, type)
  }
  makeConvertible(stored)
  // Every reader names the failure by it.
  if (attemptCall(() => mainCause(stored)) === undefined) throw new InvalidProfileError('exceptions', 'errors')
  const logs = attemptCall(() => withNotifications(stored.logs, stored.events, Date.parse(stored.time)))
  return logs === undefined ? stored : { ...stored, logs }
}

function typeNameOf (value: unknown): string {
  if (value === null) return 'null'
  if (!Array.isArray(value)) return `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
  return value.every((item) => typeNameOf(item) === 'an object') ? 'a list of objects' : 'a list'
}

/** Without this, `String` throws for an object with a member `toString` or `valueOf`. */
function makeConvertible (value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, 'toString') || Object.hasOwn(value, 'valueOf')) {
    Object.defineProperty(value, Symbol.toPrimitive, { value: () => JSON.stringify(value), configurable: true })
  }
  Object.values(value).forEach(makeConvertible)
}
