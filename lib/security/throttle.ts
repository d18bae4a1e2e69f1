import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { TooManyLoginAttemptsError } from './errors.js'

export interface ThrottlingSettings {
  /** How many logins may fail for one user from one address; five times as many for all users from it. Default: 5. */
  maxAttempts?: number
  /** In how many milliseconds. Default: 60000. */
  interval?: number
  /** Makes the counters, where several processes share them; in memory by default. `duration` is in seconds. */
  limiter?: (options: { keyPrefix: string, points: number, duration: number }) => RateLimiterAbstract
}

const BY_ADDRESS = 5

/** Counts failed logins, by user and address and by address alone. */
export class LoginThrottle {
  readonly #ofUser: RateLimiterAbstract
  readonly #ofAddress: RateLimiterAbstract

  constructor (firewall: string, { maxAttempts = 5, interval = 60_000, limiter }: ThrottlingSettings = {}) {
    for (const [name, value] of Object.entries({ maxAttempts, interval })) {
      if (!Number.isInteger(value) || value < 1) throw new Error(`security: throttling.${name} of the firewall "${firewall}" must be a whole number from 1`)
    }
    const make = limiter ?? ((options) => new RateLimiterMemory(options))
    const duration = Math.ceil(interval / 1000)
    this.#ofUser = make({ keyPrefix: `login:${firewall}:user`, points: maxAttempts, duration })
    this.#ofAddress = make({ keyPrefix: `login:${firewall}:address`, points: maxAttempts * BY_ADDRESS, duration })
  }

  /** Counts an attempt ahead of its outcome, so that many at once are no way around; throws when there were too many. */
  async attempt (ip: string, identifier: string): Promise<void> {
    try {
      await this.#ofAddress.consume(networkOf(ip))
      await this.#ofUser.consume(keyOf(ip, identifier))
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      const error = new TooManyLoginAttemptsError('Too many failed login attempts, please try again later.')
      error.headers['retry-after'] = String(Math.max(1, Math.ceil(refused.msBeforeNext / 1000)))
      throw error
    }
  }

  /** Takes back an attempt that was no failure. */
  async succeeded (ip: string, identifier: string): Promise<void> {
    await Promise.all([this.#ofAddress.reward(networkOf(ip)), this.#ofUser.delete(keyOf(ip, identifier))])
  }
}

// A name of any length costs the same memory.
function keyOf (ip: string, identifier: string): string {
  return createHash('sha256').update(`${networkOf(ip)} ${identifier.toLowerCase()}`).digest('base64url')
}

// Whoever has one address of a /64 has them all.
function networkOf (ip: string): string {
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}
