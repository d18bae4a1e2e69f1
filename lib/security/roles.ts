/** What else each role is: `{ ROLE_ADMIN: ['ROLE_EDITOR'] }` lets an administrator do what an editor may. */
export type RoleHierarchy = Record<string, string | string[]>

/** Makes the function that adds to a user's roles all that they inherit; the given ones stay first. */
export function roleResolver (hierarchy: RoleHierarchy = {}): (roles: readonly string[]) => readonly string[] {
  const inherited = new Map(Object.entries(hierarchy).map(([role, others]) => [role, ([] as string[]).concat(others)]))
  return (roles) => {
    const reached = new Set(roles)
    // A set that grows while it is walked is walked to its end: circles end by themselves.
    for (const role of reached) for (const other of inherited.get(role) ?? []) reached.add(other)
    return [...reached]
  }
}
