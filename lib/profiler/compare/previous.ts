import type { Profile } from '../profile.js'
import type { Criteria } from '../storage/criteria.js'
import type { Awaitable, ProfilePage, SearchOptions } from '../storage/storage.js'
import type { ProfileSummary } from '../summary.js'

const PAGE = 50
/** More requests in the same millisecond than this are not looked through. */
const MAX_PAGES = 10

/** The newest profile of the same route (without one: of the same path) that is older than a profile and fits. */
export async function previousOf (profile: Profile, criteria: Criteria, search: (options: SearchOptions) => Awaitable<ProfilePage>): Promise<ProfileSummary | undefined> {
  const { route, time, method, url, token } = profile
  const same: Criteria = route === null ? { url: url.replace(/[?#][^]*$/, '').slice(-500), method } : { route: route.name }
  const until = Math.min(criteria.until ?? Infinity, Date.parse(time))
  let cursor: string | null = null
  let seen = false
  const among: ProfileSummary[] = []
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page: ProfilePage = await search({ criteria: { ...criteria, ...same, until }, limit: PAGE, ...(cursor !== null && { cursor }) })
    for (const summary of page.profiles) {
      // Of one millisecond those count that stand behind it in the order of the store.
      if (summary.token === token) seen = true
      else if (seen || summary.time < time) return summary
      else among.push(summary)
    }
    if (page.next === null) break
    cursor = page.next
  }
  return seen ? undefined : among[0]
}
