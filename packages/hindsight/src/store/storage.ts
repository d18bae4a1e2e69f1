import createError, { type FastifyErrorConstructor } from '@fastify/error'
import type { Profile, ProfileSummary } from './profile.js'
import type { Criteria } from './criteria.js'
import type { ProfileRecord } from './summary.js'

/** A value, or the promise of one: an engine in memory can answer at once. */
export type Awaitable<T> = T | Promise<T>

/** The criteria of a search and the page to return. */
export interface SearchOptions {
  /** All of these must match; none: every profile. */
  criteria?: Criteria
  /** At most this many; at least 1. */
  limit: number
  /** `-time` by default: newest first. */
  sort?: Sort
  /** The `next` of the previous page. Another text is an `InvalidCursorError`. */
  cursor?: string
  /** The `head` of an earlier page: only profiles put after it. Another text is an `InvalidCursorError`. */
  after?: string
}

/** The orders of a search, `-` for descending. By time, the newest is the one that was put last. */
export const SORTS = ['-time', 'time', '-duration', 'duration', '-status', 'status'] as const
/** The order of a search; `-` is descending. */
export type Sort = (typeof SORTS)[number]

/** A page of profiles. */
export interface ProfilePage {
  /** In the order of the search. */
  profiles: ProfileSummary[]
  /** Opaque; null on the last page. Only the order `-time` has further pages. */
  next: string | null
  /** Opaque: the position of the newest profile in the store, whether it matches or not. */
  head: string
}

/** The limits of a store. Successes are evicted before failures, and pinned profiles never. */
export interface StorageBounds {
  maxProfiles: number
  /** Bytes of the profiles as JSON. */
  maxBytes: number
}

export const DEFAULT_BOUNDS: StorageBounds = { maxProfiles: 10_000, maxBytes: 256 * 1024 * 1024 }

/** The amount of profiles in a store, and its bounds. */
export interface StorageStats extends StorageBounds {
  /** `sqlite`, `memory`, `postgres`, or the name of a store of the application. */
  engine: string
  /** Where the profiles are, without a password; for people. */
  place: string
  profiles: number
  bytes: number
  failures: number
  pinned: number
}

/** A cursor that no page can have returned. */
export const InvalidCursorError: FastifyErrorConstructor<{ code: string, statusCode: 400 }> =
  createError('HINDSIGHT_INVALID_CURSOR', 'Invalid "cursor": "%s" is not one of a previous page.', 400)

/** Pinned profiles would leave no space for new ones. */
export const TooManyPinnedError: FastifyErrorConstructor<{ code: string, statusCode: 409 }> = createError(
  'HINDSIGHT_TOO_MANY_PINNED',
  'Profile "%s" cannot be pinned: pinned profiles would fill more than half of the store; unpin others, or raise ' +
    'profiler.maxProfiles and profiler.maxBytes.',
  409
)

/** The store was closed. */
export const StorageClosedError: FastifyErrorConstructor<{ code: string, statusCode: 503 }> =
  createError('HINDSIGHT_STORAGE_CLOSED', 'The store "%s" is closed.', 503)

/** The store cannot be opened, read or written. */
export const StorageUnusableError: FastifyErrorConstructor<{ code: string, statusCode: 503 }> =
  createError('HINDSIGHT_STORAGE_UNUSABLE', 'The store "%s" cannot be used: %s', 503)

/**
 * Where a page is, and its order: `seq` is above the first number and below the second. `mayContinue`: whether a
 * further page can be requested. `head`: the highest `seq` of the store.
 */
export function rangeOf ({ cursor, after = '0', sort = '-time' }: SearchOptions, head: number) {
  const name = sort.replace('-', '') as 'time' | 'duration' | 'status'
  const seq: [above: number, below: number] = [seqOf(after), cursor === undefined ? head + 1 : seqOf(cursor)]
  const column = name === 'time' ? 'seq' : name
  return { seq, column, isDescending: sort.startsWith('-'), mayContinue: sort === '-time' } as const
}

// It may be above the highest `seq`: the newest profiles may have been removed.
function seqOf (position: string): number {
  if (!/^(?:0|[1-9]\d{0,14})$/.test(position)) throw new InvalidCursorError(position)
  return Number(position)
}

/**
 * Stores profiles; the exported contract test defines each method. The newest profile is the one that was put last. A
 * store bounds itself: it evicts the oldest successes first, then the oldest failures, and never pinned profiles. One
 * that cannot reach its data rejects within seconds.
 */
export interface ProfileStorage {
  /** Replaces profiles with the same tokens, which stay pinned. A pinned one of another request (`time`) is kept. */
  put (profiles: readonly ProfileRecord[]): Awaitable<void>
  get (token: string): Awaitable<Profile | undefined>
  /** The summaries that match, in the order of the search. */
  search (options: SearchOptions): Awaitable<ProfilePage>
  /** Protects a profile from eviction and purge, or no longer; false where there is none. */
  pin (token: string, pinned: boolean): Awaitable<boolean>
  /** Removes the profiles that match and are not pinned; returns how many. */
  purge (criteria?: Criteria): Awaitable<number>
  stats (): Awaitable<StorageStats>
  close (): Awaitable<void>
  /** Optional. A random text that all processes with this store share: it signs the forms of the pages. */
  secret? (): Awaitable<string>
  /** Optional. Called when the application listens: starts what would take long when the process ends soon. */
  warmUp? (): void
  /** Optional. Blocks the thread of an exiting process until what was put is stored, or the time (ms) is over. */
  settle? (timeout: number): void
}

/** The groups of profiles in the order of their eviction; pinned profiles are not evicted. */
export type RetentionGroup = 'success' | 'failure' | 'pinned'

interface Amount {
  profiles: number
  /** Bytes of the profiles as JSON. */
  bytes: number
}

export type Totals = Record<RetentionGroup, Amount>

/** The share of each bound that failures may fill, so that a service which always fails still shows a success. */
const FAILURE_SHARE = 0.8
const PINNED_SHARE = 0.5

export function emptyTotals (): Totals {
  return { success: { profiles: 0, bytes: 0 }, failure: { profiles: 0, bytes: 0 }, pinned: { profiles: 0, bytes: 0 } }
}

export function sumOf ({ success, failure, pinned }: Totals): Amount {
  return {
    profiles: success.profiles + failure.profiles + pinned.profiles,
    bytes: success.bytes + failure.bytes + pinned.bytes
  }
}

/** Whether a further profile of this size may be pinned. */
export function mayPin ({ pinned }: Totals, bytes: number, bounds: StorageBounds): boolean {
  return !isOver({ profiles: pinned.profiles + 1, bytes: pinned.bytes + bytes }, bounds, PINNED_SHARE)
}

/** The group whose oldest profile is to be evicted next; null: the store is within its bounds. */
export function groupToEvict (totals: Totals, bounds: StorageBounds): 'success' | 'failure' | null {
  const { success, failure } = totals
  if (!isOver(sumOf(totals), bounds, 1) || success.profiles + failure.profiles === 0) return null
  const isFailureOver = failure.profiles > 1 && isOver(failure, bounds, FAILURE_SHARE)
  return success.profiles === 0 || isFailureOver ? 'failure' : 'success'
}

function isOver ({ profiles, bytes }: Amount, { maxProfiles, maxBytes }: StorageBounds, share: number): boolean {
  return profiles > maxProfiles * share || bytes > maxBytes * share
}
