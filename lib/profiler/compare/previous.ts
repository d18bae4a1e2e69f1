import type { Profile } from '../profile.js'
import type { Criteria } from '../storage/criteria.js'
import type { Awaitable, ProfilePage, SearchOptions } from '../storage/storage.js'
import type { ProfileSummary } from '../summary.js'

/** How many older profiles are read. */
const LIMIT = 50

/**
 * The newest profile that matches the criteria, is accepted, is of the same route (without a route: of the same path
 * and method) and is older than the given one. Among profiles of the same millisecond, the order of the store counts.
 */
export async function previousOf (
  profile: Profile, criteria: Criteria, search: (options: SearchOptions) => Awaitable<ProfilePage>,
  accepts: (summary: ProfileSummary) => boolean = () => true
): Promise<ProfileSummary | undefined> {
  const { route, time, method, url, token } = profile
  const same = route === null ? { url: url.replace(/[?#][^]*$/, '').slice(-500), method } : { route: route.name }
  const until = Math.min(criteria.until ?? Infinity, Date.parse(time))
  const { profiles } = await search({ criteria: { ...criteria, ...same, until }, limit: LIMIT })
  const own = profiles.findIndex((summary) => summary.token === token)
  return profiles.slice(own + 1).find(accepts)
}
