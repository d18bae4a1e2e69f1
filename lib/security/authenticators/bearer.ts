import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { AuthenticationError, INVALID_CREDENTIALS } from '../errors.js'
import { challengeOf, credentialsOf, type Authenticated, type Authenticator } from './authenticator.js'

export interface BearerSettings {
  /** What the token is for. Default: `Secured Area`. */
  realm?: string
  /** Tokens of the configuration: the SHA-256 of each (hexadecimal; a token is random and long, unlike a password), and whose it is. */
  tokens?: Array<{ sha256: string, user: string }>
  /** Finds out whose a token is: the user, an identifier for the provider, or null. */
  verify?: (token: string, request: FastifyRequest) => Authenticated | undefined | Promise<Authenticated | undefined>
}

/** Bearer tokens in the `Authorization` header (RFC 6750, section 2.1), never in the query or the body. */
export function bearerAuthenticator (settings: BearerSettings, where: string): Authenticator {
  const { realm = 'Secured Area', tokens = [], verify } = settings
  if (tokens.length === 0 && verify === undefined) throw new Error(`${where}.bearer: give tokens, or a function verify`)
  const users = new Map<string, string>()
  for (const { sha256, user } of tokens) {
    if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256)) throw new Error(`${where}.bearer: the token of "${user}" is not given by its SHA-256 in hexadecimal`)
    users.set(sha256.toLowerCase(), user)
  }
  return {
    name: 'bearer',
    supports: (request) => credentialsOf(request, 'bearer') !== null,
    challenge: (refused) => challengeOf('Bearer', { realm, error: refused ? 'invalid_token' : undefined }),
    insufficient: () => challengeOf('Bearer', { realm, error: 'insufficient_scope' }),
    async authenticate (request) {
      const token = credentialsOf(request, 'bearer') ?? ''
      if (!/^[\w.~+/-]+=*$/.test(token)) throw new AuthenticationError(INVALID_CREDENTIALS).because('the header holds no token')
      // Who compares digests tells nothing about tokens by time.
      return users.get(createHash('sha256').update(token).digest('hex')) ?? await verify?.(token, request) ?? null
    }
  }
}
