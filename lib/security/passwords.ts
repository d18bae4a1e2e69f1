import { randomBytes } from 'node:crypto'
import { hash, parseOptions, verify } from '@node-rs/argon2'
import type { StoredUser } from './user.js'

/** Makes and verifies password hashes; the built-in one is Argon2id (RFC 9106) with hashes in the PHC string format. */
export interface PasswordHasher {
  /** `like` is a hash whose cost the new one must have. */
  hash (password: string, like?: string): Promise<string>
  verify (hash: string, password: string): Promise<boolean>
  /** Throws where a hash is none that `verify` can read. */
  check? (hash: string): void
}

/** Argon2id, off the event loop. */
export const argon2: PasswordHasher = {
  hash (password, like) {
    if (like === undefined) return hash(password)
    const { memoryCost, timeCost, parallelism, outputLen, algorithm, version } = parseOptions(like)
    return hash(password, { memoryCost, timeCost, parallelism, outputLen, algorithm, version })
  },
  async verify (stored, password) {
    try {
      return await verify(stored, password)
    } catch {
      // A hash that cannot be read is nobody's password.
      return false
    }
  },
  check (stored) {
    parseOptions(stored)
  }
}

/** Verifies passwords at the same cost whether or not the user exists. */
export class Passwords {
  readonly #hasher: PasswordHasher
  readonly #nobodys: Promise<string>

  constructor (hasher: PasswordHasher, hashes: string[]) {
    this.#hasher = hasher
    // As dear as the hashes of users, so that nobody is told apart from somebody by time.
    this.#nobodys = hasher.hash(randomBytes(18).toString('base64'), hashes[0])
    // Whoever verifies is told.
    this.#nobodys.catch(() => {})
  }

  /** Whether the password is the user's; exactly one verification, for nobody too. */
  async verify (user: StoredUser | null | undefined, password: string): Promise<boolean> {
    const stored = user?.password
    const matches = await this.#hasher.verify(stored ?? await this.#nobodys, password)
    return matches && stored !== undefined
  }
}

/** Throws where the hash of a user in the configuration is none. */
export function checkHashes (hasher: PasswordHasher, where: string, hashes: string[]): void {
  for (const stored of hashes) {
    try {
      hasher.check?.(stored)
    } catch (error) {
      throw new Error(`${where}: a password is not in the form of a hash that can be verified; make one with hashPassword()`, { cause: error })
    }
  }
}
