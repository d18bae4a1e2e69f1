/** The part of a rule that says where it holds. */
export interface PathRule {
  /** A prefix of the path, or an expression that it must match; none: everywhere. */
  path?: string | RegExp
}

/** The first of the rules that holds for a path. */
export function firstRuleFor<T> (rules: readonly T[], pathOf: (rule: T) => string | RegExp | undefined, pathname: string): T | null {
  return rules.find((rule) => pathMatches(pathOf(rule), pathname)) ?? null
}

/** Whether a path is one that a rule means. */
export function pathMatches (path: string | RegExp | undefined, pathname: string): boolean {
  if (path === undefined) return true
  return typeof path === 'string' ? pathname.startsWith(path) : path.test(pathname)
}
