import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { servicesOf } from '../lifecycle/services.js'
import type { ThrottlingSettings } from '../options.js'
import { AuthenticationError, TooManyLoginAttemptsError } from './errors.js'
import { passwordCheck, type CompiledProvider, type PasswordHasher, type StoredUser } from './users.js'

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
    const succeeded = await throttle?.(ip, identifier)
    const user = await provider.load(identifier) ?? null
    const isRight = await matches(user, password)
    if (user === null || !isRight) throw AuthenticationError.invalid(user === null ? 'no such user' : 'wrong password')
    await succeeded?.()
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

/** Seconds in which the name of a user who has logged in is not limited at that address by failures at others. */
const KNOWN_FOR = 7 * 24 * 60 * 60

/**
 * Returns the function that counts an attempt before its outcome, so that concurrent ones are counted, too. It rejects
 * after too many failures, and resolves to the function to be called if the attempt succeeds.
 */
function loginThrottle (firewall: string, settings: ThrottlingSettings) {
  const { maxAttempts = 5, interval = 60_000, limiter = (options) => new RateLimiterMemory(options) } = settings
  const counter = (by: string, points: number, duration = Math.ceil(interval / 1000)): RateLimiterAbstract =>
    limiter({ keyPrefix: `login:${firewall}:${by}`, points, duration })
  const byAddress = counter('address', maxAttempts * 5)
  const byUser = counter('user', maxAttempts)
  const byName = counter('name', maxAttempts * 20)
  const known = counter('known', 1, KNOWN_FOR)
  return async (ip: string, identifier: string): Promise<() => Promise<void>> => {
    const network = networkOf(ip)
    const name = keyOf(normalizedName(identifier))
    const user = keyOf(`${network} ${name}`)
    try {
      await byAddress.consume(network)
      await byUser.consume(user)
      // Failures at other addresses cannot lock out a user who logs in where they have logged in before.
      const isKnown = await known.get(user) !== null
      if (!isKnown) await byName.consume(name)
      return async () => {
        if (!isKnown) await byName.reward(name)
        await Promise.all([byAddress.reward(network), byUser.delete(user), known.set(user, 1, KNOWN_FOR)])
      }
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      const error = new TooManyLoginAttemptsError('Too many failed login attempts, please try again later.')
      error.headers['retry-after'] = String(Math.max(1, Math.ceil(refused.msBeforeNext / 1000)))
      throw error
    }
  }
}

// A provider may find the same user by several spellings of a name: they share a counter.
function normalizedName (identifier: string): string {
  const visible = identifier.normalize('NFKC').replace(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
  // In this order it folds the case of letters such as ß, too.
  return visible.toLowerCase().toUpperCase().toLowerCase().normalize('NFKC').trim()
}

// A hash: names of any length take the same memory.
function keyOf (text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

// A client usually has all addresses of an IPv6 /64.
function networkOf (ip: string): string {
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}
