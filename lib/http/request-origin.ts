/** Where a request was sent to and where it came from, as far as trusted parties report it. */
export interface Origin {
  scheme: 'http' | 'https'
  /** Lower case; `host`, or `host:port` where the port is not the scheme's default. Empty where the host is invalid. */
  authority: string
  /** The authority without its port. */
  host: string
  /** The path under which a trusted proxy serves the application; empty or with a leading slash. */
  prefix: string
  /** The client's address. Empty on a Unix socket, and where the headers of a trusted proxy do not contain it. */
  ip: string
  /** The addresses of the trusted proxies that the request passed, the nearest first. */
  proxies: string[]
  /** Why request validation refuses the request. */
  problem: Error | null
}

/** Whether the value of the header `Origin` is the origin of the request itself (RFC 6454, section 6.2). */
export function isOwnOrigin (origin: string, { scheme, authority }: Origin): boolean {
  return authority !== '' && origin === `${scheme}://${authority}`
}
