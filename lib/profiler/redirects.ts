const LIFETIME = 30_000
const MAX_KEPT = 1_000
const MAX_URL = 2_000

/** The client and the URL of a request. */
interface Follower {
  ip: string
  userAgent: string
  /** Absolute; the fragment is ignored. */
  url: string
}

/** The redirects of the last 30 seconds by client and target: they are the parents of the requests that follow. */
export class Redirects {
  readonly #kept = new Map<string, { token: string, until: number }>()

  /** Keeps the redirect of a request to `location`, which may be relative. */
  remember (redirected: Follower, location: string, token: string, now = Date.now()): void {
    const key = keyOf({ ...redirected, url: location }, redirected.url)
    if (key === null) return
    this.#kept.delete(key)
    this.#kept.set(key, { token, until: now + LIFETIME })
    const [oldest = ''] = this.#kept.keys()
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(oldest)
  }

  /** Removes the redirect to this request and returns its token; null where there is none. */
  take (follower: Follower, now = Date.now()): string | null {
    const key = this.#kept.size === 0 ? null : keyOf(follower)
    if (key === null) return null
    const found = this.#kept.get(key)
    this.#kept.delete(key)
    return found !== undefined && found.until > now ? found.token : null
  }
}

function keyOf ({ ip, userAgent, url }: Follower, base?: string): string | null {
  if (ip === '' || url.length > MAX_URL || !URL.canParse(url, base)) return null
  const target = new URL(url, base)
  target.hash = ''
  return `${ip}\n${userAgent.slice(0, 300)}\n${target.href}`
}
