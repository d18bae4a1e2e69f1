import { setTimeout as sleep } from 'node:timers/promises'
import type { Criteria } from './storage/criteria.js'
import { isInvalidCursor, type ProfilePage, type SearchOptions } from './storage/storage.js'
import type { ProfileSummary } from './summary.js'

/** The profiler of an application, or a store. */
export interface Searchable {
  search (options: SearchOptions): ProfilePage | Promise<ProfilePage>
}

export interface FollowOptions {
  criteria?: Criteria
  /** The `head` of an earlier page: newer profiles are returned. */
  after: string
  signal: AbortSignal
  /** Milliseconds between two searches; default: 400. */
  interval?: number
  /** Milliseconds without news until an empty batch is yielded; default: 15,000. */
  heartbeat?: number
}

export interface News {
  /** Oldest first. */
  profiles: ProfileSummary[]
  /** The position of the store. */
  head: string
}

/** The newest profiles of one search that are yielded. */
const MAX_NEWS = 1_000

/**
 * Yields new profiles that match, whichever process stores them, until the signal aborts. A store that is unavailable
 * is searched again.
 */
export async function * follow (store: Searchable, options: FollowOptions): AsyncGenerator<News> {
  const { criteria = {}, signal, interval = 400, heartbeat = 15_000 } = options
  let { after } = options
  let quietSince = performance.now()
  while (!signal.aborted) {
    const news = await newsAfter(store, criteria, after).catch((error: unknown) => headOf(store, error))
    if (signal.aborted) return
    after = news?.head ?? after
    if (news !== null && (news.profiles.length > 0 || performance.now() - quietSince >= heartbeat)) {
      quietSince = performance.now()
      yield news
    }
    await sleep(interval, undefined, { signal }).catch(() => {})
  }
}

// A store that does not have the position is a new one. Null: it is unavailable.
async function headOf (store: Searchable, error: unknown): Promise<News | null> {
  if (!isInvalidCursor(error)) return null
  try {
    return { profiles: [], head: (await store.search({ limit: 1 })).head }
  } catch {
    return null
  }
}

async function newsAfter (store: Searchable, criteria: Criteria, after: string): Promise<News> {
  const { profiles, head } = await store.search({ criteria, after, limit: MAX_NEWS })
  return { profiles: profiles.reverse(), head }
}
