import { setTimeout as sleep } from 'node:timers/promises'
import type { Criteria } from './criteria.js'
import type { ProfileStorage } from './storage.js'
import type { ProfileSummary } from './profile.js'
import { isNoise } from './summary.js'

type Searchable = Pick<ProfileStorage, 'search'>

export interface FollowOptions {
  criteria?: Criteria
  /** The `head` of an earlier page: newer profiles are yielded. */
  after: string
  signal: AbortSignal
  /** Milliseconds between two searches; default: 400. */
  interval?: number
  /** Milliseconds without new profiles until an empty batch is yielded; default: 15,000. */
  heartbeat?: number
}

const MAX_BATCH = 1_000
/** How many of the newest failures may be skipped. */
const MAX_SKIPPED = 20

/** Yields new profiles that match, oldest first, until the signal aborts. A store that fails is searched again. */
export async function * follow (store: Searchable, options: FollowOptions): AsyncGenerator<ProfileSummary[]> {
  const { criteria = {}, signal, interval = 400, heartbeat = 15_000 } = options
  let { after } = options
  let yieldedAt = performance.now()
  while (!signal.aborted) {
    try {
      const { profiles, head } = await store.search({ criteria, after, limit: MAX_BATCH })
      after = head
      if (!signal.aborted && (profiles.length > 0 || performance.now() - yieldedAt >= heartbeat)) {
        yieldedAt = performance.now()
        yield profiles.reverse()
      }
    } catch {
      // The next search may succeed.
    }
    await sleep(interval, undefined, { signal }).catch(() => {})
  }
}

/** The newest profile that matches. Failures that are noise are skipped, unless the newest 20 are all such. */
export async function newestOf (store: Searchable, criteria: Criteria): Promise<ProfileSummary | undefined> {
  const { profiles } = await store.search({ criteria, limit: MAX_SKIPPED })
  return profiles.find((profile) => criteria.error !== true || !isNoise(profile)) ?? profiles[0]
}
