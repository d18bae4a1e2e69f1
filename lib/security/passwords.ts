import { randomBytes } from 'node:crypto'
import type { StoredUser } from './users.js'

/** Makes and verifies password hashes; the built-in one is Argon2id (RFC 9106) with hashes in the PHC string format. */
export interface PasswordHasher {
  /** `like`: a hash whose cost the new one must have. */
  hash (password: string, like?: string): Promise<string>
  verify (hash: string, password: string): Promise<boolean>
  /** Throws an error, or rejects, for a hash that `verify` cannot read. */
  check? (hash: string): void | Promise<void>
}

// The native library is loaded at its first use.
const library = async () => await import('@node-rs/argon2')

/** Argon2id in the thread pool. */
export const argon2: PasswordHasher = {
  async hash (password, like) {
    const { hash, parseOptions } = await library()
    if (like === undefined) return await hash(password)
    const { memoryCost, timeCost, parallelism, outputLen, algorithm, version } = parseOptions(like)
    return await hash(password, { memoryCost, timeCost, parallelism, outputLen, algorithm, version })
  },
  async verify (stored, password) {
    const { verify } = await library()
    try {
      return await verify(stored, password)
    } catch {
      // No password matches a hash that cannot be read.
      return false
    }
  },
  async check (stored) {
    (await library()).parseOptions(stored)
  }
}

/** Resolves to the hash of a password for a provider of users: Argon2id in the PHC string format, `$argon2id$…`. */
export async function hashPassword (password: string): Promise<string> {
  return await argon2.hash(password)
}

/** Rejects if a password of a provider is not a hash. */
export async function checkHashes (hasher: PasswordHasher, provider: string, hashes: readonly string[]): Promise<void> {
  try {
    for (const stored of hashes) await hasher.check?.(stored)
  } catch (error) {
    throw new Error(`security.providers.${provider}: a password is not in the form of a hash that can be verified; ` +
      'make one with hashPassword()', { cause: error })
  }
}

/** Returns the function that verifies a user's password: exactly one verification, also without a user. */
export function passwordCheck (hasher: PasswordHasher, hashes: readonly string[]) {
  // As expensive as the users' hashes, so that the time of an answer does not reveal whether a user exists.
  const decoy = hasher.hash(randomBytes(18).toString('base64'), hashes[0])
  // A failure is reported by the verification that awaits it.
  decoy.catch(() => {})
  return async (user: StoredUser | null | undefined, password: string): Promise<boolean> => {
    const stored = user?.password
    return await hasher.verify(stored ?? await decoy, password) && stored !== undefined
  }
}
