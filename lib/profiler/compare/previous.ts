import type { Profile } from '../profile.js'
import type { Criteria } from '../storage/criteria.js'
import type { Awaitable, ProfilePage, SearchOptions } from '../storage/storage.js'
import type { ProfileSummary } from '../summary.js'

const PAGE = 50
/** Bounds the search among the requests of one millisecond. */
const MAX_PAGES = 10

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
  const found: ProfileSummary[] = []
  let cursor: string | null = null
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page: ProfilePage =
      await search({ criteria: { ...criteria, ...same, until }, limit: PAGE, ...(cursor !== null && { cursor }) })
    found.push(...page.profiles.filter((summary) => summary.token === token || accepts(summary)))
    const index = found.findIndex((summary) => summary.token === token)
    const isBefore = (summary: ProfileSummary, i: number): boolean => summary.time < time || (index !== -1 && i > index)
    const previous = found.find((summary, i) => summary.token !== token && isBefore(summary, i))
    if (previous !== undefined || page.next === null) return previous ?? (index === -1 ? found[0] : undefined)
    cursor = page.next
  }
  return found.some((summary) => summary.token === token) ? undefined : found[0]
}
