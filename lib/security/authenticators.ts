import type { FastifyRequest } from 'fastify'
import { AuthenticationError } from './errors.js'
import type { StoredUser } from './users.js'

/**
 * Recognizes the user of a request. The first authenticator of a firewall that supports a request decides about it; a
 * request without such an authenticator has the user of its session, if the firewall has a login, or is anonymous.
 */
export interface Authenticator {
  /** Its name in the profile. */
  readonly name: string
  /** Whether the request has credentials of this kind; must be cheap, and must not read the body. */
  supports (request: FastifyRequest): boolean
  /** The user, or an identifier for the provider of the firewall. Null or an `AuthenticationError`: 401. */
  authenticate (request: FastifyRequest): Authenticated | Promise<Authenticated>
  /** The challenge in `WWW-Authenticate` (RFC 9110, section 11.6.1); `refused`: the request had wrong credentials. */
  challenge? (refused: boolean): string
}

/** Resolves to the user with a name and a password; rejects with the same message for every reason. */
export type VerifyCredentials = (request: FastifyRequest, identifier: string, password: string) => Promise<StoredUser>

export type Authenticated = StoredUser | string | null

/** HTTP basic authentication (RFC 7617), with names and passwords as UTF-8. */
export function basicAuthenticator (given: true | { realm?: string }, verify: VerifyCredentials): Authenticator {
  const { realm = 'Secured Area' } = given === true ? {} : given
  return {
    name: 'basic',
    supports: (request) => credentialsOf(request, 'basic') !== null,
    challenge: () => challengeOf('Basic', { realm }),
    async authenticate (request) {
      const encoded = credentialsOf(request, 'basic') ?? ''
      const text = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) ? Buffer.from(encoded, 'base64').toString('utf8') : ''
      // RFC 7617, section 2: the first colon ends the name; neither part has control characters.
      const colon = text.indexOf(':')
      if (colon === -1 || /\p{Cc}/u.test(text)) {
        throw AuthenticationError.invalid('the header has no name and password')
      }
      return await verify(request, text.slice(0, colon), text.slice(colon + 1))
    }
  }
}

/** Bearer tokens in the `Authorization` header (RFC 6750, section 2.1), never in the query or the body. */
export function bearerAuthenticator ({ realm = 'Secured Area', verify }: {
  realm?: string
  verify: (token: string, request: FastifyRequest) => Authenticated | undefined | Promise<Authenticated | undefined>
}): Authenticator {
  return {
    name: 'bearer',
    supports: (request) => credentialsOf(request, 'bearer') !== null,
    challenge: (refused) => challengeOf('Bearer', refused ? { realm, error: 'invalid_token' } : { realm }),
    async authenticate (request) {
      const token = credentialsOf(request, 'bearer') ?? ''
      if (!/^[\w.~+/-]+=*$/.test(token)) throw AuthenticationError.invalid('the header has no token')
      return await verify(token, request) ?? null
    }
  }
}

/** A challenge with its parameters as quoted strings (RFC 9110, sections 5.6.4 and 11.2). */
function challengeOf (scheme: string, parameters: Record<string, string>): string {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&')}"`)
  return `${scheme} ${pairs.join(', ')}`
}

/** The credentials in `Authorization`; null for another scheme, and without the header. */
function credentialsOf ({ headers: { authorization = '' } }: FastifyRequest, scheme: string): string | null {
  const [name = ''] = authorization.trim().split(' ', 1)
  return name.toLowerCase() === scheme ? authorization.trim().slice(name.length).trim() : null
}
