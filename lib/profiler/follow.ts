import { setTimeout as sleep } from 'node:timers/promises'
import type { Criteria } from './storage/criteria.js'
import { isInvalidCursor, type ProfilePage, type SearchOptions } from './storage/storage.js'
import type { ProfileSummary } from './summary.js'

/** Whatever can be searched: the profiler of an application, or a store alone. */
export interface Searchable {
  search (options: SearchOptions): ProfilePage | Promise<ProfilePage>
}

export interface FollowOptions {
  criteria?: Criteria
  /** The `head` from which on profiles are told. */
  after: string
  signal: AbortSignal
  /** Milliseconds between two looks at the store; 400 by default. */
  interval?: number
  /** Milliseconds without news until an empty batch is given as a sign of life; 15,000 by default. */
  heartbeat?: number
}

export interface News {
  /** Oldest first. */
  profiles: ProfileSummary[]
  /** How far the store had come. */
  head: string
}

const PAGE = 200
const MAX_NEWS = 1_000

/**
 * Tells the profiles that fit as they come, whichever process stores them; ends when the signal says so.
 * A store that is away for a while is asked again.
 */
export async function * follow (store: Searchable, { criteria = {}, after, signal, interval = 400, heartbeat = 15_000 }: FollowOptions): AsyncGenerator<News> {
  let place = after
  let quietSince = performance.now()
  while (!signal.aborted) {
    const news = await newsBehind(store, criteria, place).catch((error: unknown) => restarted(store, error))
    if (signal.aborted) return
    if (news !== null) place = news.head
    if (news !== null && (news.profiles.length > 0 || performance.now() - quietSince >= heartbeat)) {
      quietSince = performance.now()
      yield news
    }
    await sleep(interval, undefined, { signal }).catch(() => {})
  }
}

// A store that does not know the place began anew; one that is away is asked again.
async function restarted (store: Searchable, error: unknown): Promise<News | null> {
  if (!isInvalidCursor(error)) return null
  try {
    return { profiles: [], head: (await store.search({ limit: 1 })).head }
  } catch {
    return null
  }
}

async function newsBehind (store: Searchable, criteria: Criteria, after: string): Promise<News> {
  const first = await store.search({ criteria, after, limit: PAGE })
  const found = first.profiles
  // Who was away for long is told the newest only. What comes between two pages lies ahead of the first and is told with the next news.
  for (let next = first.next; next !== null && found.length < MAX_NEWS;) {
    const page = await store.search({ criteria, after, limit: PAGE, cursor: next })
    found.push(...page.profiles)
    next = page.next
  }
  return { profiles: found.reverse(), head: first.head }
}
