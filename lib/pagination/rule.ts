import type { FastifyRequest } from 'fastify'
import { badRequest } from '../http/http-errors.js'
import { cut } from '../view/visible.js'

export type Direction = 'asc' | 'desc'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The page that the query names. */
    pagination?: Pagination | null
  }
}

/** The pagination of a route. */
export interface RoutePagination {
  /** Items on a page by default; otherwise the application's `defaultLimit`. */
  limit?: number
  /** The maximum that a client may request; otherwise the application's `maxLimit`. */
  maxLimit?: number
  /** The fields by which a client may sort; none by default. */
  sort?: readonly string[]
  /** The field by which is sorted by default, one of `sort`. */
  defaultSort?: string
  /** The default direction; otherwise `asc`. */
  direction?: Direction
}

/** The settings of the application: the names of the query's fields, and defaults of routes. */
export interface PaginationSettings {
  /** `page` */
  page?: string
  /** `limit` */
  limit?: string
  /** `sort` */
  sort?: string
  /** `direction` */
  direction?: string
  /** Items on a page: 20. */
  defaultLimit?: number
  /** The maximum that a client may request: 100. */
  maxLimit?: number
}

export interface Pagination {
  /** From 1. */
  page: number
  /** Items on a page. */
  limit: number
  /** Items before the page. */
  offset: number
  /** The field to sort by: one that the route allows, or null. */
  sort: string | null
  direction: Direction
}

/** A route's pagination with all defaults. */
export interface PaginationRule {
  names: Record<'page' | 'limit' | 'sort' | 'direction', string>
  limit: number
  maxLimit: number
  sort: readonly string[]
  defaultSort: string | null
  direction: Direction
}

const ROUTE_KEYS = ['limit', 'maxLimit', 'sort', 'defaultSort', 'direction']
const DEFAULT_NAMES = { page: 'page', limit: 'limit', sort: 'sort', direction: 'direction' }
const DIRECTIONS: readonly unknown[] = ['asc', 'desc']
const MAX_SHOWN = 100
/** Larger page numbers could not be multiplied by a limit without loss. */
const MAX_PAGE = 999_999_999

/** The rule of a route. Throws at an invalid value, with an error that begins with `where`. */
export function paginationRule (
  where: string, declared: true | RoutePagination, settings: PaginationSettings = {}
): PaginationRule {
  const given = declared === true ? {} : declared
  checkKeys(`${where}: pagination`, given)
  const { defaultLimit = 20, maxLimit: maxOfAll = 100, ...names } = settings
  const { maxLimit = Math.max(maxOfAll, given.limit ?? 0), sort = [], defaultSort = null, direction = 'asc' } = given
  const { limit = Math.min(defaultLimit, maxLimit) } = given
  const fail = (name: string, problem: string): never => { throw new Error(`${where}: pagination.${name} ${problem}`) }
  for (const [name, value] of Object.entries({ limit, maxLimit })) checkCount(`${where}: pagination.${name}`, value)
  if (limit > maxLimit) fail('limit', `is ${limit}, more than maxLimit, which is ${maxLimit}`)
  if (!Array.isArray(sort) || !sort.every(isName)) fail('sort', 'must be a list of field names')
  if (defaultSort !== null && !sort.includes(defaultSort)) {
    fail('defaultSort', `"${defaultSort}" is none of sort (${sort.join(', ')})`)
  }
  if (!DIRECTIONS.includes(direction)) fail('direction', `must be asc or desc, not ${JSON.stringify(direction)}`)
  return { names: { ...DEFAULT_NAMES, ...names }, limit, maxLimit, sort, defaultSort, direction }
}

/** Throws at invalid settings of the application. */
export function assertPaginationSettings (settings: PaginationSettings): void {
  const { defaultLimit = 20, maxLimit = 100, ...names } = settings
  checkCount('pagination.defaultLimit', defaultLimit)
  checkCount('pagination.maxLimit', maxLimit)
  if (defaultLimit > maxLimit) {
    throw new Error(`pagination.defaultLimit is ${defaultLimit}, more than maxLimit, which is ${maxLimit}`)
  }
  const all = Object.values({ ...DEFAULT_NAMES, ...names })
  if (!all.every(isName)) throw new Error('pagination: the names of query fields must be text')
  const twice = all.find((name, i) => all.indexOf(name) !== i)
  if (twice !== undefined) throw new Error(`pagination: two query fields are called "${twice}"`)
}

/** The page that a query requests. Throws a bad-request error that names the field and its valid values. */
export function readPagination ({ names, ...rule }: PaginationRule, { query }: FastifyRequest): Pagination {
  const fields = (query ?? {}) as Record<string, unknown>
  const limit = readNumber(fields, names.limit, rule.maxLimit, `a whole number from 1 to ${rule.maxLimit}`) ??
    rule.limit
  const page = readNumber(fields, names.page, MAX_PAGE, 'a whole number from 1') ?? 1
  const sort = readText(fields, names.sort)
  if (sort !== undefined && !rule.sort.includes(sort)) {
    const problem = rule.sort.length === 0
      ? 'there is nothing to sort by here'
      : `"${shown(sort)}" is none of ${rule.sort.join(', ')}`
    throw badRequest(`Invalid "${names.sort}": ${problem}.`)
  }
  const direction = readText(fields, names.direction) ?? rule.direction
  if (!DIRECTIONS.includes(direction)) {
    throw badRequest(`Invalid "${names.direction}": "${shown(direction)}" is neither asc nor desc.`)
  }
  return { page, limit, offset: (page - 1) * limit, sort: sort ?? rule.defaultSort, direction: direction as Direction }
}

function readNumber (fields: Record<string, unknown>, name: string, max: number, valid: string): number | undefined {
  const text = readText(fields, name)
  if (text === undefined) return undefined
  const isWhole = /^[1-9]\d*$/.test(text)
  if (isWhole && Number(text) <= max) return Number(text)
  throw badRequest(
    `Invalid "${name}": "${shown(text)}" is ${isWhole && max >= MAX_PAGE ? `more than ${max}` : `not ${valid}`}.`
  )
}

function readText (fields: Record<string, unknown>, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (value === undefined || typeof value === 'string') return value
  throw badRequest(`Invalid "${name}": it may be given only once, as plain text.`)
}

function shown (text: string): string {
  return cut(text, MAX_SHOWN)
}

function isName (value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function checkCount (name: string, value: unknown): void {
  if (!Number.isInteger(value) || (value as number) < 1) {
    throw new Error(`${name} must be a whole number from 1, not ${JSON.stringify(value)}`)
  }
}

function checkKeys (name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${name} must be an object, not ${JSON.stringify(value)}`)
  }
  const unknown = Object.keys(value).find((key) => !ROUTE_KEYS.includes(key))
  if (unknown !== undefined) throw new Error(`${name}: unknown "${unknown}"; known are ${ROUTE_KEYS.join(', ')}`)
}
