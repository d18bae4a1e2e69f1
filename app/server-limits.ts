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

/** How one limit is documented, and how its environment variable is checked. */
export interface LimitEntry {
  env: string
  default: number
  min: number
  what: string
}

/** Every limit of the server: the environment is checked against it, and `docs/options.md` is made from it. */
export const SERVER_LIMITS: Readonly<Record<keyof ServerLimits, LimitEntry>> = {
  headersTimeout: {
    env: 'HEADERS_TIMEOUT',
    default: 20_000,
    min: 0,
    what: 'how long the header section of a request may take to arrive (ms); then 408'
  },
  requestTimeout: {
    env: 'REQUEST_TIMEOUT',
    default: 60_000,
    min: 0,
    what: 'how long a whole request may take to arrive, with its body (ms); then 408'
  },
  connectionTimeout: {
    env: 'CONNECTION_TIMEOUT',
    default: 120_000,
    min: 0,
    what: 'how long nothing may be sent or received on a connection with a request (ms); then it is closed without ' +
      'an answer: a client that does not read its response, or a handler that takes longer and sends nothing. ' +
      'To be longer than `REQUEST_TIMEOUT`, whose end is answered'
  },
  keepAliveTimeout: {
    env: 'KEEP_ALIVE_TIMEOUT',
    default: 72_000,
    min: 1,
    what: 'how long a connection is kept without a request (ms): longer than the proxies before it keep theirs'
  },
  bodyLimit: {
    env: 'BODY_LIMIT',
    default: 1024 * 1024,
    min: 1,
    what: 'the bytes of a body that is parsed; a larger one is answered with 413. A route may have its own'
  },
  maxConnections: {
    env: 'MAX_CONNECTIONS',
    default: 10_000,
    min: 0,
    what: 'how many connections may be open at once; further ones are closed; 0: as many as the system allows. ' +
      'Where `HOST` is `localhost` and has several addresses: at the first of them'
  },
  maxRequestsPerConnection: {
    env: 'MAX_REQUESTS_PER_CONNECTION',
    default: 0,
    min: 0,
    what: 'how many requests a connection may have: the response to the last one has `Connection: close`, and further ones are answered with 503; 0: any number'
  }
}

const NAMES = Object.keys(SERVER_LIMITS) as Array<keyof ServerLimits>

/** All limits: the given ones, and the defaults of the others. */
export function limitsWith (given: Partial<ServerLimits> = {}): ServerLimits {
  const defaults = Object.fromEntries(NAMES.map((name) => [name, SERVER_LIMITS[name].default]))
  return { ...defaults as unknown as ServerLimits, ...given }
}

/** The limits that the environment sets; throws an error that names the variable where its value is invalid. */
export function readLimits (source: NodeJS.ProcessEnv = process.env): ServerLimits {
  const given: Partial<ServerLimits> = {}
  for (const name of NAMES) {
    const { env, min } = SERVER_LIMITS[name]
    const text = source[env]
    if (text === undefined || text === '') continue
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    if (!(value >= min)) throw new Error(`Environment: ${env} must be a whole number from ${min}, not "${text}"`)
    given[name] = value
  }
  return limitsWith(given)
}

/** Whether the environment switches method override on; throws an error that names the variable where it is invalid. */
export function readMethodOverride ({ METHOD_OVERRIDE: text = '' }: NodeJS.ProcessEnv = process.env): boolean {
  if (!['', 'on', 'off'].includes(text)) throw new Error(`Environment: METHOD_OVERRIDE must be on or off, not "${text}"`)
  return text === 'on'
}
