import type { StorageBounds } from './storage.js'

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
