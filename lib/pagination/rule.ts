import type { FastifyRequest } from 'fastify'
import { badRequest } from '../http/http-errors.js'
import type { PaginationSettings, RoutePagination } from '../options.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The page that the query names. */
    pagination?: Pagination | null
  }
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
  direction: 'asc' | 'desc'
}

/** A route's pagination with all defaults. */
export type PaginationRule = ReturnType<typeof paginationRule>

/** Keeps the product of page and limit a safe integer. */
const MAX_PAGE = 999_999_999

/** The rule of a route. Throws where values contradict each other, with an error that begins with `where`. */
export function paginationRule (
  where: string, declared: true | RoutePagination, settings: PaginationSettings = {}
) {
  const given = declared === true ? {} : declared
  const { defaultLimit = 20, maxLimit: maxOfAll = 100 } = settings
  const { maxLimit = Math.max(maxOfAll, given.limit ?? 0), sort = [], defaultSort = null, direction = 'asc' } = given
  const { limit = Math.min(defaultLimit, maxLimit) } = given
  if (limit > maxLimit) throw new Error(`${where}.limit is ${limit}, more than maxLimit, which is ${maxLimit}`)
  if (defaultSort !== null && !sort.includes(defaultSort)) {
    throw new Error(`${where}.defaultSort "${defaultSort}" is none of sort (${sort.join(', ')})`)
  }
  return { limit, maxLimit, sort, defaultSort, direction }
}

/** The page that a query requests. Throws a bad-request error that names the field and its valid values. */
export function readPagination (rule: PaginationRule, { query }: FastifyRequest): Pagination {
  const fields = (query ?? {}) as Record<string, unknown>
  const limit = readNumber(fields, 'limit', rule.maxLimit) ?? rule.limit
  const page = readNumber(fields, 'page', MAX_PAGE) ?? 1
  const sort = readText(fields, 'sort')
  if (sort !== undefined && !rule.sort.includes(sort)) {
    const problem = rule.sort.length === 0
      ? 'this route has no sortable fields'
      : `"${sort}" is none of ${rule.sort.join(', ')}`
    throw badRequest(`Invalid "sort": ${problem}.`)
  }
  const direction = readText(fields, 'direction') ?? rule.direction
  if (direction !== 'asc' && direction !== 'desc') {
    throw badRequest(`Invalid "direction": "${direction}" is neither asc nor desc.`)
  }
  return { page, limit, offset: (page - 1) * limit, sort: sort ?? rule.defaultSort, direction }
}

function readNumber (fields: Record<string, unknown>, name: string, max: number): number | undefined {
  const text = readText(fields, name)
  if (text === undefined) return undefined
  if (/^[1-9]\d*$/.test(text) && Number(text) <= max) return Number(text)
  throw badRequest(`Invalid "${name}": "${text}" is not a whole number from 1 to ${max}.`)
}

function readText (fields: Record<string, unknown>, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (value === undefined || typeof value === 'string') return value
  throw badRequest(`Invalid "${name}": it may be given only once, as plain text.`)
}
