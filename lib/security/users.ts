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
export type LoadUser = (identifier: string) => StoredUser | null | undefined | Promise<StoredUser | null | undefined>

/** The source of users: a list, or a function. */
export type UserProvider = { users: StoredUser[] } | LoadUser

/** The roles that each role includes: `{ ROLE_ADMIN: ['ROLE_EDITOR'] }` gives administrators the rights of editors. */
export type RoleHierarchy = Record<string, string | string[]>

/** A frozen copy of a user, without the password. */
export function userFrom ({ identifier, roles = [], attributes = {} }: StoredUser): User {
  return Object.freeze({ identifier, roles: Object.freeze([...roles]), attributes: Object.freeze({ ...attributes }) })
}

/** A provider as its firewall uses it. */
export type CompiledProvider = ReturnType<typeof compileProvider>

/** Compiles a provider; throws an error with its name. `hashes`: the password hashes of a list. */
export function compileProvider (name: string, provider: UserProvider) {
  const where = `security.providers.${name}`
  if (typeof provider === 'function') return { name, load: provider, hashes: [] as string[] }
  if (!Array.isArray(provider?.users)) throw new Error(`${where}: a provider is { users: […] } or a function`)
  const users = new Map<string, StoredUser>()
  for (const user of provider.users) {
    const { identifier } = user
    if (typeof identifier !== 'string' || identifier === '') throw new Error(`${where}: every user needs an identifier`)
    if (users.has(identifier)) throw new Error(`${where}: the user "${identifier}" is there twice`)
    users.set(identifier, user)
  }
  const hashes = provider.users.flatMap(({ password }) => password ?? [])
  return { name, load: (identifier: string) => users.get(identifier), hashes }
}

/** Returns the function that adds the inherited roles after the given ones. */
export function roleResolver (hierarchy: RoleHierarchy = {}): (roles: readonly string[]) => readonly string[] {
  const inherited = new Map(Object.entries(hierarchy))
  return (roles) => {
    const all = new Set(roles)
    // The loop also visits the roles that it adds, each of them once.
    for (const role of all) for (const other of [inherited.get(role) ?? []].flat()) all.add(other)
    return [...all]
  }
}
