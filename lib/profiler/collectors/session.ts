/** What is asked of a session; its id is never read. */
interface SessionObject {
  isModified?: () => boolean
  [key: string]: unknown
}

/** What became of a request's session, without its id and its values. */
export interface SessionRecord {
  used: boolean
  /** Whether the request brought a session's cookie. */
  cookie: boolean
  /** Where the session is from, or that it was ended; null where it was not used. */
  origin: 'new' | 'loaded' | 'ended' | null
  changed: boolean
  saved: boolean
  /** What kind of value each key has: the values themselves are the user's. */
  keys: Record<string, string>
}

/** A session that nobody has looked at. */
export function unusedSession (cookie: boolean): SessionRecord {
  return cookie ? unusedWithCookie : unused
}

const unused: SessionRecord = { used: false, cookie: false, origin: null, changed: false, saved: false, keys: {} }
const unusedWithCookie: SessionRecord = { used: false, cookie: true, origin: null, changed: false, saved: false, keys: {} }

/** A session as the handler leaves it, ahead of its being saved. */
export function sessionRecord (session: unknown, cookie: boolean, loaded: boolean): SessionRecord {
  if (typeof session !== 'object' || session === null) return { ...unusedSession(cookie), used: true, origin: 'ended' }
  const object = session as SessionObject
  return {
    used: true,
    cookie,
    origin: loaded ? 'loaded' : 'new',
    changed: object.isModified?.() === true,
    saved: false,
    keys: Object.fromEntries(Object.entries(object).filter(([key]) => key !== 'cookie').slice(0, 200).map(([key, value]) => [key, `****** (${kindOf(value)})`]))
  }
}

function kindOf (value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `list of ${value.length}`
  return typeof value === 'object' ? `object of ${Object.keys(value).length}` : typeof value
}
