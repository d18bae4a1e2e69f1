import { setTimeout as sleep } from 'node:timers/promises'
import type { Criteria } from './criteria.js'
import type { ProfileStorage } from './storage.js'
import { isNoise, readProfile, TOKEN_PATTERN, type Profile, type ProfileSummary } from './profile.js'

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
export const NOTHING_FOUND = 'No stored profile matches.'

/** Yields new profiles that match, oldest first, until the signal aborts. A store that fails is searched again. */
export async function * followProfiles (store: Searchable, options: FollowOptions): AsyncGenerator<ProfileSummary[]> {
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

/**
 * The newest profile that matches and is no noise. Where only noise matches, the newest. A failure of the application
 * comes before a 404 for which there is no route, which robots request.
 */
export async function newestOf (store: Searchable, criteria: Criteria): Promise<ProfileSummary | undefined> {
  let newest: ProfileSummary | undefined
  for (let cursor: string | undefined; ;) {
    const { profiles, next } = await store.search({ criteria, limit: 50, ...cursor !== undefined && { cursor } })
    const known = profiles.filter((profile) => !isNoise(profile))
    const isFailure = criteria.error === true
    const found = known.find(({ status, route }) => !isFailure || status !== 404 || route !== null)
    if (found !== undefined) return found
    newest ??= profiles[0]
    if (next === null) return newest
    cursor = next
  }
}

/** The profile of a token, or for `latest` the newest that matches the criteria. Throws when there is none. */
export async function findProfile (
  store: Searchable & Pick<ProfileStorage, 'get'>, wanted: string, criteria: Criteria = {}
): Promise<Profile> {
  let token: string | undefined = wanted
  if (wanted === 'latest') token = (await newestOf(store, criteria))?.token
  else if (!TOKEN_PATTERN.test(wanted)) {
    throw new Error(`"${wanted}" is neither a token of six hexadecimal digits nor "latest".`)
  }
  if (token === undefined) throw new Error(NOTHING_FOUND)
  const profile = await store.get(token)
  if (profile === undefined) throw new Error(`Token "${token}" was not found.`)
  return readProfile(profile)
}
