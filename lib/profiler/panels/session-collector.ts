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

/** The record of a session before it is saved: undefined if it was not used, null if it was ended. */
export function sessionRecord (session: object | null | undefined, cookie: boolean, loaded: boolean): SessionRecord {
  const { isModified } = (session ?? {}) as { isModified?: () => boolean }
  const values = Object.entries(session ?? {}).filter(([key]) => key !== 'cookie').slice(0, MAX_KEYS)
  const origin = session === null ? 'ended' : loaded ? 'loaded' : 'new'
  return {
    used: session !== undefined,
    cookie,
    origin: session === undefined ? null : origin,
    changed: isModified?.call(session) === true,
    saved: false,
    keys: Object.fromEntries(values.map(([key, value]) => [key, `****** (${typeof value})`]))
  }
}
