/** What a client may cost the server; times in milliseconds, 0 for none. */
export interface ServerLimits {
  headersTimeout: number
  requestTimeout: number
  connectionTimeout: number
  keepAliveTimeout: number
  bodyLimit: number
  maxConnections: number
  maxRequestsPerConnection: number
}

/** What is to be said about one limit: to its reader in the docs, and to whoever reads the environment. */
export interface LimitEntry {
  env: string
  default: number
  /** The least that it can be. */
  from: number
  what: string
}

/** Every limit of the server, once: what the environment is checked by, and what `docs/options.md` shows. */
export const SERVER_LIMITS: Readonly<Record<keyof ServerLimits, LimitEntry>> = {
  headersTimeout: { env: 'HEADERS_TIMEOUT', default: 20_000, from: 0, what: 'how long the header section of a request may take to arrive (ms); then 408' },
  requestTimeout: { env: 'REQUEST_TIMEOUT', default: 60_000, from: 0, what: 'how long a whole request may take to arrive, with its body (ms); then 408' },
  connectionTimeout: { env: 'CONNECTION_TIMEOUT', default: 60_000, from: 0, what: 'how long a client may leave a response unread (ms); then its connection is cut, up to 5 s later. A handler may take longer' },
  keepAliveTimeout: { env: 'KEEP_ALIVE_TIMEOUT', default: 72_000, from: 1, what: 'how long a connection is kept without a request (ms): longer than the proxies before it keep theirs' },
  bodyLimit: { env: 'BODY_LIMIT', default: 1024 * 1024, from: 1, what: 'the bytes of a body that is parsed; a larger one is answered with 413. A route may have its own' },
  maxConnections: { env: 'MAX_CONNECTIONS', default: 10_000, from: 0, what: 'how many connections may be open at once; further ones are closed; 0: as many as the system lets' },
  maxRequestsPerConnection: { env: 'MAX_REQUESTS_PER_CONNECTION', default: 0, from: 0, what: 'after how many requests a client is told to end its connection; further ones are answered with 503; 0: never' }
}

const NAMES = Object.keys(SERVER_LIMITS) as Array<keyof ServerLimits>

/** The limits by their defaults, and what is said of some. */
export function limitsWith (given: Partial<ServerLimits> = {}): ServerLimits {
  const defaults = Object.fromEntries(NAMES.map((name) => [name, SERVER_LIMITS[name].default])) as unknown as ServerLimits
  return { ...defaults, ...given }
}

/** The limits that the environment sets; throws with the variable's name where a value is none that it can have. */
export function readLimits (source: NodeJS.ProcessEnv = process.env): ServerLimits {
  const given: Partial<ServerLimits> = {}
  for (const name of NAMES) {
    const { env, from } = SERVER_LIMITS[name]
    const text = source[env]
    if (text === undefined || text === '') continue
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    if (!(value >= from)) throw new Error(`Environment: ${env} must be a whole number from ${from}, not "${text}"`)
    given[name] = value
  }
  return limitsWith(given)
}
