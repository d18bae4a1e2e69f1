import createError, { type FastifyErrorConstructor } from '@fastify/error'
import type { Profile, ProfileDraft } from '../profile.js'
import type { Criteria } from './criteria.js'
import type { ProfileSummary } from './summary.js'

/** A value now, or the promise of one: an engine in memory need not make its callers wait. */
export type Awaitable<T> = T | Promise<T>

/** What is looked for, and how much of it. */
export interface SearchOptions {
  /** All of these must hold; none: every profile. */
  criteria?: Criteria
  /** At most this many; at least 1. */
  limit: number
  /** The `next` of the page before. One that the store has not come to is an `InvalidCursorError`. */
  cursor?: string
  /** The `head` of an earlier page: only what was put behind it. One that the store has not come to is an `InvalidCursorError`. */
  after?: string
}

export interface ProfilePage {
  /** Newest first. */
  profiles: ProfileSummary[]
  /** Opaque; null behind the last page. */
  next: string | null
  /** Opaque: how far the store had come when it was asked, whatever was found; nothing in the page lies behind it. */
  head: string
}

/** How much an engine keeps. Failures outlive successes, and what is pinned stays. */
export interface StorageBounds {
  maxProfiles: number
  /** Of the profiles as the engine stores them. */
  maxBytes: number
}

/** What suits a laptop. */
export const DEFAULT_BOUNDS: StorageBounds = { maxProfiles: 10_000, maxBytes: 256 * 1024 * 1024 }

/** The share of each bound that failures may fill, so that a service which always fails still shows a success. */
export const FAILURE_SHARE = 0.8

/** The share of each bound that may be pinned. */
export const PINNED_SHARE = 0.5

export interface StorageStats extends StorageBounds {
  /** `memory`, `embedded` or `redis`. */
  engine: string
  /** Where the profiles are, without a password; for people. */
  place: string
  profiles: number
  bytes: number
  failures: number
  pinned: number
}

/** Raised for a cursor that no page of this store has given. */
export const InvalidCursorError: FastifyErrorConstructor<{ code: string, statusCode: 400 }> = createError('HINDSIGHT_INVALID_CURSOR', 'Invalid "cursor": "%s" is not one of a previous page.', 400)

/** Raised when so much is pinned that there would be no room for what is new. */
export const TooManyPinnedError: FastifyErrorConstructor<{ code: string, statusCode: 409 }> = createError('HINDSIGHT_TOO_MANY_PINNED', 'Profile "%s" cannot be pinned: pinned ones would fill more than half of the store; unpin others, or raise profiler.maxProfiles and profiler.maxBytes.', 409)

/** Profiles that wait to be written together. */
export interface ProfileBatch {
  /** Whether as many were taken in as should be written at once: what comes then waits for the next one. */
  readonly isFull: boolean
  /** Takes in a profile, whose token is in no other place of the batch; throws where it can never be stored. */
  add (profile: Profile | ProfileDraft): void
  /** One that was taken in. */
  get (token: string): Profile | ProfileDraft | undefined
  /** Keeps all of them; nothing is taken in from then on. */
  write (): Awaitable<void>
}

/**
 * Where profiles are kept: the few verbs that an engine must know; `contract.ts` in the tests holds all engines to them.
 * Newest means put last. An engine bounds itself, oldest first; successes go before failures, pinned ones not at all.
 * One that cannot reach its data rejects, soon; who calls it counts and goes on.
 */
export interface ProfileStorage {
  /**
   * Keeps a batch, oldest first; a token that is there already is replaced, and is not pinned any more. The profiles are not changed afterwards.
   * `get` gives back all that `JSON.stringify` tells of one, `notificationsLeftOut` and `tokenLeftOut` too: by these the profiler tells the rest of it.
   */
  put (profiles: ReadonlyArray<Profile | ProfileDraft>): Awaitable<void>
  /** Begins what `put` is given otherwise, for an engine that packs each profile as it comes: as objects they would have to be kept until all are there. */
  batch? (): ProfileBatch
  get (token: string): Awaitable<Profile | undefined>
  /** Asked before a token is given away, so it must be cheap. */
  has (token: string): Awaitable<boolean>
  /** The summaries that fit, newest first. */
  search (options: SearchOptions): Awaitable<ProfilePage>
  /** Keeps a profile from being evicted and purged, or no longer; false where there is none. */
  pin (token: string, pinned: boolean): Awaitable<boolean>
  /** Removes what fits and is not pinned (with `pinned`: that too), and says how many. */
  purge (criteria?: Criteria, options?: { pinned?: boolean }): Awaitable<number>
  stats (): Awaitable<StorageStats>
  close (): Awaitable<void>
}
