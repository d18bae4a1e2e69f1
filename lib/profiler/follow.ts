import { setTimeout as sleep } from 'node:timers/promises'
import type { Criteria } from './storage/criteria.js'
import { isInvalidCursor, type ProfilePage, type SearchOptions } from './storage/storage.js'
import type { ProfileSummary } from './summary.js'

/** The profiler of an application, or a store. */
interface Searchable {
  search (options: SearchOptions): ProfilePage | Promise<ProfilePage>
}

export interface FollowOptions {
  criteria?: Criteria
  /** The `head` of an earlier page: newer profiles are returned. */
  after: string
  signal: AbortSignal
  /** Milliseconds between two searches; default: 400. */
  interval?: number
  /** Milliseconds without new profiles until an empty batch is yielded; default: 15,000. */
  heartbeat?: number
}

export interface ProfileBatch {
  /** Oldest first. */
  profiles: ProfileSummary[]
  /** The position of the store. */
  head: string
}

const MAX_BATCH = 1_000

/**
 * Yields new profiles that match, whichever process stores them, until the signal aborts. A store that is unavailable
 * is searched again.
 */
export async function * follow (store: Searchable, options: FollowOptions): AsyncGenerator<ProfileBatch> {
  const { criteria = {}, signal, interval = 400, heartbeat = 15_000 } = options
  let after: string | undefined = options.after
  let quietSince = performance.now()
  while (!signal.aborted) {
    try {
      // Without a position, the search returns that of a new store.
      const { profiles, head }: ProfilePage =
        await store.search(after === undefined ? { limit: 1 } : { criteria, after, limit: MAX_BATCH })
      const added = after === undefined ? [] : profiles.reverse()
      after = head
      if (!signal.aborted && (added.length > 0 || performance.now() - quietSince >= heartbeat)) {
        quietSince = performance.now()
        yield { profiles: added, head }
      }
    } catch (error) {
      if (isInvalidCursor(error)) {
        after = undefined
        continue
      }
    }
    await sleep(interval, undefined, { signal }).catch(() => {})
  }
}
