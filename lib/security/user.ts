/** Who sent a request. */
export interface User {
  readonly identifier: string
  /** The roles that were given to the user, without inherited ones. */
  readonly roles: readonly string[]
  /** Whatever else the provider knows. */
  readonly attributes: Readonly<Record<string, unknown>>
}

/** A user as a provider gives it. */
export interface StoredUser {
  identifier: string
  /** The hash of the password, never the password; none: the user has no password to log in with. */
  password?: string
  roles?: string[]
  attributes?: Record<string, unknown>
}

/** Finds a user by identifier; nothing where there is none. Called for a login, and for each request of a session. */
export type LoadUser = (identifier: string) => StoredUser | null | undefined | Promise<StoredUser | null | undefined>

/** Where users come from: the configuration itself, or a function. */
export type UserProvider = { users: StoredUser[] } | LoadUser

/** A provider as its firewall uses it. */
export interface CompiledProvider {
  name: string
  load: LoadUser
  /** The password hashes that are known at the start. */
  hashes: string[]
}

/** The user that others see: without its password, and beyond their reach. */
export function userFrom ({ identifier, roles = [], attributes = {} }: StoredUser): User {
  return Object.freeze({ identifier, roles: Object.freeze([...roles]), attributes: Object.freeze({ ...attributes }) })
}

/** Checks the providers of the configuration; throws with the provider's name. */
export function compileProviders (providers: Record<string, UserProvider> = {}): Map<string, CompiledProvider> {
  return new Map(Object.entries(providers).map(([name, provider]) => [name, compileProvider(name, provider)]))
}

function compileProvider (name: string, provider: UserProvider): CompiledProvider {
  const where = `security.providers.${name}`
  if (typeof provider === 'function') return { name, load: provider, hashes: [] }
  if (!Array.isArray(provider?.users)) throw new Error(`${where}: a provider is { users: […] } or a function`)
  const users = new Map<string, StoredUser>()
  const hashes: string[] = []
  for (const user of provider.users) {
    if (typeof user?.identifier !== 'string' || user.identifier === '') throw new Error(`${where}: every user needs an identifier`)
    if (users.has(user.identifier)) throw new Error(`${where}: the user "${user.identifier}" is there twice`)
    if (user.roles !== undefined && !isStrings(user.roles)) throw new Error(`${where}: the roles of "${user.identifier}" are no list of names`)
    users.set(user.identifier, user)
    if (user.password !== undefined) hashes.push(user.password)
  }
  return { name, load: (identifier) => users.get(identifier) ?? null, hashes }
}

/** Whether a value is a list of names. */
export function isStrings (value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')
}
