const LIFETIME = 30_000
const MAX_KEPT = 1_000
const MAX_URL = 2_000

/** Who follows a redirect, as far as that can be told without a mark of ours. */
export interface Follower {
  ip: string
  userAgent: string
  /** Absolute; a fragment does not count. */
  url: string
}

interface Remembered {
  token: string
  until: number
}

/** Remembers for half a minute who was sent where, so that the request that follows is known to be the redirect's. */
export class Redirects {
  readonly #kept = new Map<string, Remembered>()

  get size (): number {
    return this.#kept.size
  }

  /** `base` is the URL of the request that was redirected. */
  remember (follower: Omit<Follower, 'url'>, location: string, base: string, token: string, now = Date.now()): void {
    const key = keyOf({ ...follower, url: location }, base)
    if (key === null) return
    this.#kept.delete(key)
    this.#kept.set(key, { token, until: now + LIFETIME })
    for (const [oldest, { until }] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT && until > now) break
      this.#kept.delete(oldest)
    }
  }

  /** The token of the request that redirected here; once. */
  take (follower: Follower, now = Date.now()): string | null {
    if (this.#kept.size === 0) return null
    const key = keyOf(follower)
    const found = key === null ? undefined : this.#kept.get(key)
    if (key === null || found === undefined) return null
    this.#kept.delete(key)
    return found.until > now ? found.token : null
  }
}

function keyOf ({ ip, userAgent, url }: Follower, base?: string): string | null {
  if (ip === '' || url.length > MAX_URL || !URL.canParse(url, base)) return null
  const target = new URL(url, base)
  target.hash = ''
  return `${ip}\n${userAgent.slice(0, 300)}\n${target.href}`
}
