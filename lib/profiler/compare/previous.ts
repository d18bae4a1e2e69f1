import type { Profile } from '../profile.js'
import type { Criteria } from '../storage/criteria.js'
import type { Awaitable, ProfilePage, SearchOptions } from '../storage/storage.js'
import type { ProfileSummary } from '../summary.js'

/** More than the profiles of one millisecond. */
const LIMIT = 50

/**
 * The newest profile that matches the criteria, is of the same route (without a route: of the same path and method) and
 * is older than the given one. Among profiles of the same millisecond, the order of the store counts.
 */
export async function previousOf (
  profile: Profile, criteria: Criteria, search: (options: SearchOptions) => Awaitable<ProfilePage>
): Promise<ProfileSummary | undefined> {
  const { route, time, method, url, token } = profile
  const same = route === null ? { url: url.replace(/[?#][^]*$/, '').slice(-500), method } : { route: route.name }
  const until = Math.min(criteria.until ?? Infinity, Date.parse(time))
  const { profiles } = await search({ criteria: { ...criteria, ...same, until }, limit: LIMIT })
  const index = profiles.findIndex((summary) => summary.token === token)
  // A profile that does not match the criteria itself has no position in the order.
  if (index === -1) return profiles.find((summary) => summary.time < time) ?? profiles[0]
  return profiles.find((summary, i) => i > index || summary.time < time)
}
