import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { servicesOf } from '../lifecycle/services.js'
import { AuthenticationError, TooManyLoginAttemptsError } from './errors.js'
import { passwordCheck, type CompiledProvider, type PasswordHasher, type StoredUser } from './users.js'

export interface ThrottlingSettings {
  /** How many logins may fail for one user from one address; five times as many for all users from it. Default: 5. */
  maxAttempts?: number
  /** In how many milliseconds. Default: 60000. */
  interval?: number
  /** Makes the counters, for several processes that share them; in memory by default. `duration` is in seconds. */
  limiter?: (options: { keyPrefix: string, points: number, duration: number }) => RateLimiterAbstract
}

/** Resolves to the user with a name and a password; rejects with the same message for every reason. */
export type VerifyCredentials = (request: FastifyRequest, identifier: string, password: string) => Promise<StoredUser>

/** Returns the verification of a firewall: throttled, and at the same cost for a user who does not exist. */
export function credentialsCheck (
  firewall: string, provider: CompiledProvider, hasher: PasswordHasher, throttling: false | ThrottlingSettings = {}
): VerifyCredentials {
  const throttle = throttling === false ? null : loginThrottle(firewall, throttling)
  const matches = passwordCheck(hasher, provider.hashes)
  const key = randomBytes(32)
  const pending = new Map<string, Promise<StoredUser>>()

  async function verify (ip: string, identifier: string, password: string): Promise<StoredUser> {
    await throttle?.attempt(ip, identifier)
    const user = await provider.load(identifier) ?? null
    const isRight = await matches(user, password)
    if (user === null || !isRight) throw AuthenticationError.invalid(user === null ? 'no such user' : 'wrong password')
    await throttle?.succeeded(ip, identifier)
    return user
  }

  return async (request, identifier, password) => {
    const { ip } = servicesOf(request).originOf(request)
    // Twenty concurrent requests of one page are one attempt.
    const attempt = createHmac('sha256', key).update(JSON.stringify([ip, identifier, password])).digest('base64')
    const verifying = pending.get(attempt) ?? verify(ip, identifier, password).finally(() => pending.delete(attempt))
    pending.set(attempt, verifying)
    return await verifying
  }
}

/** Counts failed logins, by user and address and by address alone. */
function loginThrottle (firewall: string, settings: ThrottlingSettings) {
  const { maxAttempts = 5, interval = 60_000, limiter = (options) => new RateLimiterMemory(options) } = settings
  const duration = Math.ceil(interval / 1000)
  const byUser = limiter({ keyPrefix: `login:${firewall}:user`, points: maxAttempts, duration })
  const byAddress = limiter({ keyPrefix: `login:${firewall}:address`, points: maxAttempts * 5, duration })
  return {
    /** Counts an attempt before its outcome, so that concurrent ones are counted, too; rejects after too many. */
    async attempt (ip: string, identifier: string): Promise<void> {
      try {
        await byAddress.consume(networkOf(ip))
        await byUser.consume(userKey(ip, identifier))
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused
        const error = new TooManyLoginAttemptsError('Too many failed login attempts, please try again later.')
        error.headers['retry-after'] = String(Math.max(1, Math.ceil(refused.msBeforeNext / 1000)))
        throw error
      }
    },
    /** Takes back an attempt that has succeeded. */
    async succeeded (ip: string, identifier: string): Promise<void> {
      await Promise.all([byAddress.reward(networkOf(ip)), byUser.delete(userKey(ip, identifier))])
    }
  }
}

// A hash: names of any length take the same memory.
function userKey (ip: string, identifier: string): string {
  return createHash('sha256').update(`${networkOf(ip)} ${identifier.toLowerCase()}`).digest('base64url')
}

// A client usually has all addresses of an IPv6 /64.
function networkOf (ip: string): string {
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}
