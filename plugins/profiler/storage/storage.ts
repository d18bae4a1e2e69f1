import createError from '@fastify/error'
import type { Profile } from '../profile.js'

/** A value now, or the promise of one: an engine in memory need not make its callers wait. */
export type Awaitable<T> = T | Promise<T>

/** What a list shows of a profile, without reading the profile. */
export interface ProfileSummary {
  token: string
  /** ISO 8601, when the request arrived. */
  time: string
  method: string
  url: string
  status: number
  ip: string
  /** Milliseconds. */
  duration: number
  /** Whether something was raised, or the answer was a server error. */
  error: boolean
}

export interface ListOptions {
  /** At most this many; at least 1. */
  limit: number
  /** The `next` of the page before. */
  cursor?: string
}

export interface ProfilePage {
  /** Newest first. */
  profiles: ProfileSummary[]
  /** Opaque; null behind the last page. */
  next: string | null
}

/** Raised for a cursor that no page of this store has given. */
export const InvalidCursorError = createError('HINDSIGHT_INVALID_CURSOR', 'Invalid "cursor": "%s" is not one of a previous page.', 400)

/**
 * Where profiles are kept: the few verbs that an engine must know; `contract.ts` in the tests holds all engines to them.
 * Newest means put last. An engine bounds itself, and lets failures outlive successes.
 */
export interface ProfileStorage {
  /** Keeps a batch, oldest first; a token that is there already is replaced. The profiles are not changed afterwards. */
  put (profiles: readonly Profile[]): Awaitable<void>
  get (token: string): Awaitable<Profile | undefined>
  /** Asked for every request, so it must be cheap. */
  has (token: string): Awaitable<boolean>
  list (options: ListOptions): Awaitable<ProfilePage>
  /** The newest, or the newest failure. */
  latest (options?: { error?: boolean }): Awaitable<ProfileSummary | undefined>
  close (): Awaitable<void>
}

/** Whether a profile is one that people will come back for. */
export function isFailure (profile: Profile): boolean {
  return profile.exceptions.length > 0 || profile.status >= 500
}

/** The part of a profile that lists show. */
export function summarize (profile: Profile): ProfileSummary {
  const { token, time, method, url, status, ip, duration } = profile
  return { token, time, method, url, status, ip, duration, error: isFailure(profile) }
}
