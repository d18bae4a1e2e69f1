import { createHmac, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { AuthenticationError, INVALID_CREDENTIALS } from './errors.js'
import type { Passwords } from './passwords.js'
import type { LoginThrottle } from './throttle.js'
import type { CompiledProvider, StoredUser } from './user.js'
import { servicesOf } from '../lifecycle/services.js'

/** Verifies names and passwords for one firewall: throttled, and at the same cost for a user who does not exist. */
export class Credentials {
  readonly #provider: CompiledProvider
  readonly #passwords: Passwords
  readonly #throttle: LoginThrottle | null
  readonly #key = randomBytes(32)
  readonly #running = new Map<string, Promise<StoredUser>>()

  constructor (provider: CompiledProvider, passwords: Passwords, throttle: LoginThrottle | null) {
    this.#provider = provider
    this.#passwords = passwords
    this.#throttle = throttle
  }

  /** The user whose password it is; rejects otherwise, in the same words for every reason. */
  verify (request: FastifyRequest, identifier: string, password: string): Promise<StoredUser> {
    const { ip } = servicesOf(request).originOf(request)
    // A page that asks for twenty things at once is one attempt, not twenty.
    const attempt = createHmac('sha256', this.#key).update(JSON.stringify([ip, identifier, password])).digest('base64')
    const running = this.#running.get(attempt)
    if (running !== undefined) return running
    const verifying = this.#verify(ip, identifier, password).finally(() => this.#running.delete(attempt))
    this.#running.set(attempt, verifying)
    return verifying
  }

  async #verify (ip: string, identifier: string, password: string): Promise<StoredUser> {
    await this.#throttle?.attempt(ip, identifier)
    const user = await this.#provider.load(identifier) ?? null
    if (!await this.#passwords.verify(user, password) || user === null) {
      throw new AuthenticationError(INVALID_CREDENTIALS).because(user === null ? 'no such user' : 'wrong password')
    }
    await this.#throttle?.succeeded(ip, identifier)
    return user
  }
}
