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

/** What a route says of its pages. */
export interface RoutePagination {
  /** Items on a page where the client does not say; the application's `defaultLimit` without it. */
  limit?: number
  /** The most that a client may ask for; the application's `maxLimit` without it. */
  maxLimit?: number
  /** The fields that a client may sort by; none: it may not. */
  sort?: readonly string[]
  /** The field that is sorted by where the client does not say, one of `sort`. */
  defaultSort?: string
  /** The direction where the client does not say: `asc` without it. */
  direction?: Direction
}

/** The application's side: how the fields of the query are called, and what holds where a route does not say. */
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
  /** The most that a client may ask for: 100. */
  maxLimit?: number
}

export interface Pagination {
  /** From 1. */
  page: number
  /** Items on a page. */
  limit: number
  /** Items ahead of the page. */
  offset: number
  /** The field to sort by: one that the route allows, or null. */
  sort: string | null
  direction: Direction
}

type Names = Record<'page' | 'limit' | 'sort' | 'direction', string>

/** A route's pagination with every default filled in. */
export interface PaginationRule {
  names: Names
  limit: number
  maxLimit: number
  sort: readonly string[]
  defaultSort: string | null
  direction: Direction
}

const ROUTE_KEYS = ['limit', 'maxLimit', 'sort', 'defaultSort', 'direction']
const MAX_SHOWN = 100
// Behind this no page number can be multiplied by a limit without losing digits.
const MAX_PAGE_DIGITS = 9

/** The rule of a route; throws, beginning with `where`, at what cannot be one. */
export function paginationRule (where: string, declared: true | RoutePagination, settings: PaginationSettings = {}): PaginationRule {
  const given = declared === true ? {} : declared
  assertObject(`${where}: pagination`, given, ROUTE_KEYS)
  const { page = 'page', limit: limitName = 'limit', sort: sortName = 'sort', direction: directionName = 'direction', defaultLimit = 20, maxLimit: mostOfAll = 100 } = settings
  const { maxLimit = Math.max(mostOfAll, given.limit ?? 0), sort = [], defaultSort = null, direction = 'asc' } = given
  const { limit = Math.min(defaultLimit, maxLimit) } = given
  for (const [name, value] of Object.entries({ limit, maxLimit })) assertCount(`${where}: pagination.${name}`, value)
  if (limit > maxLimit) throw new Error(`${where}: pagination.limit is ${limit}, more than maxLimit, which is ${maxLimit}`)
  if (!Array.isArray(sort) || sort.some((field) => typeof field !== 'string' || field === '')) throw new Error(`${where}: pagination.sort must be a list of field names`)
  if (defaultSort !== null && !sort.includes(defaultSort)) throw new Error(`${where}: pagination.defaultSort "${defaultSort}" is none of sort (${sort.join(', ')})`)
  if (!isDirection(direction)) throw new Error(`${where}: pagination.direction must be asc or desc, not ${JSON.stringify(direction)}`)
  return { names: { page, limit: limitName, sort: sortName, direction: directionName }, limit, maxLimit, sort, defaultSort, direction }
}

/** Stops the start at settings that cannot be. */
export function assertPaginationSettings (settings: PaginationSettings): void {
  const { defaultLimit = 20, maxLimit = 100, ...names } = settings
  assertCount('pagination.defaultLimit', defaultLimit)
  assertCount('pagination.maxLimit', maxLimit)
  if (defaultLimit > maxLimit) throw new Error(`pagination.defaultLimit is ${defaultLimit}, more than maxLimit, which is ${maxLimit}`)
  const all = Object.values({ page: 'page', limit: 'limit', sort: 'sort', direction: 'direction', ...names })
  if (all.some((name) => typeof name !== 'string' || name === '')) throw new Error('pagination: the names of query fields must be text')
  const twice = all.find((name, i) => all.indexOf(name) !== i)
  if (twice !== undefined) throw new Error(`pagination: two query fields are called "${twice}"`)
}

/** Reads the page that a query asks for; throws the bad-request error that names the field and what would be right. */
export function readPagination (rule: PaginationRule, { query }: FastifyRequest): Pagination {
  const fields = (query ?? {}) as Record<string, unknown>
  const { names, maxLimit } = rule
  const limit = readNumber(fields, names.limit, maxLimit, `a whole number from 1 to ${maxLimit}`) ?? rule.limit
  const page = readNumber(fields, names.page, 10 ** MAX_PAGE_DIGITS - 1, 'a whole number from 1') ?? 1
  const sort = readText(fields, names.sort)
  if (sort !== undefined && !rule.sort.includes(sort)) {
    throw badRequest(rule.sort.length === 0 ? `Invalid "${names.sort}": there is nothing to sort by here.` : `Invalid "${names.sort}": "${shown(sort)}" is none of ${rule.sort.join(', ')}.`)
  }
  const direction = readText(fields, names.direction)
  if (direction !== undefined && !isDirection(direction)) throw badRequest(`Invalid "${names.direction}": "${shown(direction)}" is neither asc nor desc.`)
  return { page, limit, offset: (page - 1) * limit, sort: sort ?? rule.defaultSort, direction: direction ?? rule.direction }
}

function readNumber (fields: Record<string, unknown>, name: string, max: number, right: string): number | undefined {
  const text = readText(fields, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (/^[1-9]\d*$/.test(text) && value <= max) return value
  if (/^[1-9]\d*$/.test(text) && max >= 10 ** MAX_PAGE_DIGITS - 1) throw badRequest(`Invalid "${name}": "${shown(text)}" is more than ${max}.`)
  throw badRequest(`Invalid "${name}": "${shown(text)}" is not ${right}.`)
}

function readText (fields: Record<string, unknown>, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (value === undefined || typeof value === 'string') return value
  throw badRequest(`Invalid "${name}": it may be given only once, as plain text.`)
}

function isDirection (value: unknown): value is Direction {
  return value === 'asc' || value === 'desc'
}

function shown (text: string): string {
  return cut(text, MAX_SHOWN)
}

function assertCount (name: string, value: unknown): void {
  if (!Number.isInteger(value) || (value as number) < 1) throw new Error(`${name} must be a whole number from 1, not ${JSON.stringify(value)}`)
}

function assertObject (name: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${name} must be an object, not ${JSON.stringify(value)}`)
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown !== undefined) throw new Error(`${name}: unknown "${unknown}"; known are ${known.join(', ')}`)
}
