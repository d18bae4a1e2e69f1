import type { FastifyRequest } from 'fastify'
import { pathnameOf } from './request-target.js'

/** The part of a rule that says where it holds. */
export interface PathRule {
  /** A prefix of the path, or an expression that it must match; none: everywhere. */
  path?: string | RegExp
}

/** Makes the function that finds the first of some rules that holds for the path of a request; null where none does. */
export function ruleFinder<T extends PathRule> (rules: readonly T[]): (request: FastifyRequest) => T | null {
  const [first] = rules
  if (first === undefined) return () => null
  // It holds everywhere: nobody needs to know where the request is.
  if (first.path === undefined) return () => first
  return (request) => {
    const pathname = pathnameOf(request)
    return rules.find(({ path }) => pathMatches(path, pathname)) ?? null
  }
}

/** Whether a path is one that a rule means. */
export function pathMatches (path: string | RegExp | undefined, pathname: string): boolean {
  if (path === undefined) return true
  return typeof path === 'string' ? pathname.startsWith(path) : path.test(pathname)
}
