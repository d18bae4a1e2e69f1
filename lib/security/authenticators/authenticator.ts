import type { FastifyRequest } from 'fastify'
import type { StoredUser } from '../user.js'

/**
 * Finds out who sent a request. The first authenticator of a firewall that supports a request decides about it;
 * a request that none supports is looked up in the session, where the firewall has a login, or is anonymous.
 */
export interface Authenticator {
  /** What the profile calls it. */
  readonly name: string
  /** Whether the request brings credentials of this kind; must be cheap, and must not read the body. */
  supports (request: FastifyRequest): boolean
  /**
   * The user; or an identifier, to be looked up in the firewall's provider.
   * Null, or an `AuthenticationError`, refuses the credentials: the request is answered with 401.
   */
  authenticate (request: FastifyRequest): Authenticated | Promise<Authenticated>
  /** The value of `WWW-Authenticate` that asks for such credentials (RFC 9110, section 11.6.1); `refused`: they were sent, and are wrong. */
  challenge? (refused: boolean): string
  /** The value of `WWW-Authenticate` for a user who was recognised, and is not allowed. */
  insufficient? (): string
}

export type Authenticated = StoredUser | string | null

/** A challenge with its parameters as quoted strings (RFC 9110, sections 5.6.4 and 11.2). */
export function challengeOf (scheme: string, parameters: Record<string, string | undefined>): string {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return `${scheme} ${pairs.map(([name, value]) => `${name}="${String(value).replace(/["\\]/g, '\\$&')}"`).join(', ')}`
}

/** What follows the name of a scheme in `Authorization`; null where the request names another, or none. */
export function credentialsOf ({ headers: { authorization } }: FastifyRequest, scheme: string): string | null {
  if (authorization === undefined) return null
  const [name = ''] = authorization.trim().split(' ', 1)
  return name.toLowerCase() === scheme ? authorization.trim().slice(name.length).trim() : null
}
