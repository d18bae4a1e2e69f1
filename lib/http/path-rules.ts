import type { FastifyRequest } from 'fastify'
import { pathnameOf } from './request-target.js'

/** The part of a rule that limits it to paths. */
export interface PathRule {
  /** A prefix of the path, or an expression that it must match; without it the rule applies to every path. */
  path?: string | RegExp
}

/** A function that finds the first rule that applies to the path of a request; null where none does. */
export function ruleFinder<T extends PathRule> (rules: readonly T[]): (request: FastifyRequest) => T | null {
  return (request) => rules.find(({ path }) => path === undefined || pathMatches(path, pathnameOf(request))) ?? null
}

/** Whether a rule with this `path` applies to a path. */
export function pathMatches (path: string | RegExp | undefined, pathname: string): boolean {
  if (path === undefined) return true
  return typeof path === 'string' ? pathname.startsWith(path) : path.test(pathname)
}
