import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { traceOf } from 'fastify-hindsight/recorder'
import type { ThrottlingSettings } from '../options.js'
import type { VerifyCredentials } from './authenticators.js'
import { AuthenticationError, TooManyLoginAttemptsError } from './errors.js'
import { passwordCheck, type CompiledProvider, type PasswordHasher, type StoredUser } from './users.js'

/** Resolves to the verification of a firewall: throttled, and at the same cost for a user who does not exist. */
export async function credentialsCheck (
  firewall: string, provider: CompiledProvider, hasher: PasswordHasher, throttling: false | ThrottlingSettings = {}
): Promise<VerifyCredentials> {
  const throttle = throttling === false ? null : loginThrottle(firewall, throttling)
  const matches = await passwordCheck(hasher, provider)
  const pending = new Map<string, Promise<StoredUser>>()

  async function verify (ip: string, identifier: string, password: string): Promise<StoredUser> {
    const succeeded = await throttle?.(ip, identifier)
    const user = await provider.load(identifier) ?? null
    const isRight = await matches(user, password)
    if (user === null || !isRight) throw AuthenticationError.invalid(user === null ? 'no such user' : 'wrong password')
    await succeeded?.()
    return user
  }

  return async (request, identifier, password) => {
    const { ip } = traceOf(request).services.originOf(request)
    // Concurrent requests with the same credentials, such as those of one page, count as one attempt.
    const attempt = JSON.stringify([ip, identifier, password])
    const verifying = pending.get(attempt) ?? verify(ip, identifier, password).finally(() => pending.delete(attempt))
    pending.set(attempt, verifying)
    return await verifying
  }
}

/** Returns the function that counts an attempt before its outcome; its result is called if the attempt succeeds. */
function loginThrottle (firewall: string, settings: ThrottlingSettings) {
  const { maxAttempts = 5, interval = 60_000, limiter = (options) => new RateLimiterMemory(options) } = settings
  const counter = (by: string, points: number): RateLimiterAbstract =>
    limiter({ keyPrefix: `login:${firewall}:${by}`, points, duration: Math.ceil(interval / 1000) })
  const byAddress = counter('address', maxAttempts * 5)
  const byUser = counter('user', maxAttempts)
  return async (ip: string, identifier: string): Promise<() => Promise<unknown>> => {
    const network = networkOf(ip)
    // A provider may find the same user by several spellings of a name. A hash of any name takes the same memory.
    const name = identifier.normalize('NFKC').trim().toLowerCase()
    const user = createHash('sha256').update(`${network} ${name}`).digest('base64url')
    try {
      await byAddress.consume(network)
      await byUser.consume(user)
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      const error = new TooManyLoginAttemptsError('Too many failed login attempts, please try again later.')
      error.headers['retry-after'] = String(Math.max(1, Math.ceil(refused.msBeforeNext / 1000)))
      throw error
    }
    return async () => await Promise.all([byAddress.reward(network), byUser.delete(user)])
  }
}

// A client usually has all addresses of an IPv6 /64.
function networkOf (ip: string): string {
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}
