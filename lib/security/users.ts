import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'

/** The user who sent a request. */
export interface User {
  readonly identifier: string
  /** The roles that were given to the user, without inherited ones. */
  readonly roles: readonly string[]
  /** Other data of the provider. */
  readonly attributes: Readonly<Record<string, unknown>>
}

/** A user as a provider returns it. */
export interface StoredUser {
  identifier: string
  /** The hash of the password, never the password; without one the user cannot log in with a password. */
  password?: string
  roles?: string[]
  attributes?: Record<string, unknown>
}

/** Finds a user by identifier; null if there is none. Called for a login, and for each request of a session. */
type LoadUser = (identifier: string) => StoredUser | null | undefined | Promise<StoredUser | null | undefined>

/** The source of users: a list, or a function. */
export type UserProvider = { users: StoredUser[] } | LoadUser

/** A frozen copy of a user, without the password. */
export function userFrom ({ identifier, roles = [], attributes = {} }: StoredUser): User {
  return Object.freeze({ identifier, roles: Object.freeze([...roles]), attributes: Object.freeze({ ...attributes }) })
}

/** A provider as its firewall uses it. */
export type CompiledProvider = ReturnType<typeof compileProvider>

/** Compiles a provider; throws an error with its name. `hashes`: the password hashes of a list. */
export function compileProvider (name: string, provider: UserProvider) {
  if (typeof provider === 'function') return { name, load: provider, hashes: [] as string[] }
  const users = new Map(provider.users.map((user) => [user.identifier, user]))
  if (users.size < provider.users.length) throw new Error(`security.providers.${name}: an identifier is used twice`)
  const hashes = provider.users.flatMap(({ password }) => password ?? [])
  return { name, load: (identifier: string) => users.get(identifier), hashes }
}

/** Returns the function that adds the inherited roles after the given ones. */
export function roleResolver (
  hierarchy: Readonly<Record<string, string | readonly string[]>> = {}
): (roles: readonly string[]) => readonly string[] {
  const inherited = new Map(Object.entries(hierarchy))
  return (roles) => {
    const all = new Set(roles)
    // The loop also visits the roles that it adds, each of them once.
    for (const role of all) for (const other of [inherited.get(role) ?? []].flat()) all.add(other)
    return [...all]
  }
}

/** Makes and verifies password hashes; the built-in one is Argon2id (RFC 9106) with hashes in the PHC string format. */
export interface PasswordHasher {
  hash (password: string): Promise<string>
  verify (hash: string, password: string): Promise<boolean>
  /** Throws an error, or rejects, for a hash that `verify` cannot read. */
  check? (hash: string): void | Promise<void>
}

// The native library is loaded at its first use.
const require = createRequire(import.meta.url)
const library = () => require('@node-rs/argon2') as typeof import('@node-rs/argon2')

/** Resolves to the hash of a password for a provider of users: Argon2id in the PHC string format, `$argon2id$…`. */
export async function hashPassword (password: string): Promise<string> {
  return await library().hash(password)
}

/** Argon2id in the thread pool. */
export const argon2: PasswordHasher = {
  hash: hashPassword,
  async verify (stored, password) {
    const { verify } = library()
    // No password matches a hash that cannot be read.
    return await verify(stored, password).catch(() => false)
  },
  async check (stored) {
    library().parseOptions(stored)
  }
}

/** Resolves to the function that verifies a password, also without a user. Rejects if a password is no hash. */
export async function passwordCheck (hasher: PasswordHasher, { name, hashes }: CompiledProvider) {
  try {
    for (const stored of hashes) await hasher.check?.(stored)
  } catch (error) {
    throw new Error(`security.providers.${name}: a password is not in the form of a hash that can be verified; ` +
      'make one with hashPassword()', { cause: error })
  }
  // As expensive as the users' hashes, so that the time of an answer does not reveal whether a user exists.
  const dummyHash = hashes[0] ?? await hasher.hash(randomBytes(18).toString('base64'))
  return async (user: StoredUser | null | undefined, password: string): Promise<boolean> => {
    const stored = user?.password
    return await hasher.verify(stored ?? dummyHash, password) && stored !== undefined
  }
}
