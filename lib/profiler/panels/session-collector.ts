/** The session of a request, without its id and values. */
export interface SessionRecord {
  used: boolean
  /** Whether the request has the session cookie. */
  cookie: boolean
  /** Null: not used. */
  origin: 'new' | 'loaded' | 'ended' | null
  changed: boolean
  saved: boolean
  /** The type of each value. */
  keys: Record<string, string>
}

const MAX_KEYS = 200

/** The record of a session that the request did not use. */
export function unusedSession (cookie: boolean): SessionRecord {
  return { used: false, cookie, origin: null, changed: false, saved: false, keys: {} }
}

/** The record of a used session after the handler, before it is saved. */
export function sessionRecord (session: unknown, cookie: boolean, loaded: boolean): SessionRecord {
  if (typeof session !== 'object' || session === null) return { ...unusedSession(cookie), used: true, origin: 'ended' }
  const { isModified } = session as { isModified?: () => boolean }
  const values = Object.entries(session).filter(([key]) => key !== 'cookie').slice(0, MAX_KEYS)
  return {
    used: true,
    cookie,
    origin: loaded ? 'loaded' : 'new',
    changed: isModified?.call(session) === true,
    saved: false,
    keys: Object.fromEntries(values.map(([key, value]) => [key, `****** (${typeOf(value)})`]))
  }
}

function typeOf (value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `list of ${value.length}`
  return typeof value === 'object' ? `object of ${Object.keys(value).length}` : typeof value
}
