/** Where a request was addressed to and where it came from, as far as trusted parties say so. */
export interface Origin {
  scheme: 'http' | 'https'
  /** Lower case; `host` or `host:port` where the port is not the scheme's own. Empty when the host is invalid. */
  authority: string
  /** The authority without its port. */
  host: string
  /** The path under which a trusted proxy serves the application; empty or with a leading slash. */
  prefix: string
  /** Empty on a Unix socket, and where a trusted proxy's headers cannot tell it. */
  ip: string
  /** The addresses of the trusted proxies that the request passed, the nearest first; empty without one. */
  proxies: string[]
  /** What request validation has to say about it. */
  problem: Error | null
}

/** Whether the value of the header `Origin` is that of the request itself (RFC 6454, section 6.2). */
export function isOwnOrigin (origin: string, { scheme, authority }: Origin): boolean {
  return authority !== '' && origin === `${scheme}://${authority}`
}
