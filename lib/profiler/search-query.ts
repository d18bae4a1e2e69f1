import { isIP } from 'node:net'
import createError from '@fastify/error'
import ipaddr from 'ipaddr.js'
import type { Criteria } from './storage/criteria.js'
import { TOKEN_PATTERN } from './token.js'

/** Raised for a criterion that means nothing, with the name of its field. */
export const BadCriterionError = createError('HINDSIGHT_BAD_CRITERION', 'Invalid "%s": %s.', 400)

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 500

/** The fields of a search, as the query of `/_profiler/search` and the flags of the command have them. */
export interface SearchQuery {
  criteria: Criteria
  limit: number
  cursor?: string
}

type Fields = Readonly<Record<string, unknown>>
type Read = (text: string, field: string) => unknown

const MAX_TEXT = 500

const FIELDS: Readonly<Record<string, { key: keyof Criteria, read: Read }>> = {
  token: { key: 'token', read: readToken },
  ip: { key: 'ip', read: readIp },
  method: { key: 'method', read: readMethod },
  status: { key: 'status', read: readStatus },
  url: { key: 'url', read: readText },
  route: { key: 'route', read: readText },
  exception: { key: 'exception', read: readText },
  min_duration: { key: 'minDuration', read: readDuration },
  from: { key: 'from', read: readTime },
  until: { key: 'until', read: readTime },
  error: { key: 'error', read: readFlag },
  parent: { key: 'parent', read: readToken }
}

/** The names of the criteria, as they are written in a query. */
export const CRITERIA: readonly string[] = Object.keys(FIELDS)

/** Reads a search; an empty field is one that was not filled in. Throws with the field's name at the first that means nothing. */
export function readSearch (fields: Fields, maxLimit = MAX_LIMIT): SearchQuery {
  for (const field of Object.keys(fields)) {
    if (!Object.hasOwn(FIELDS, field) && field !== 'limit' && field !== 'cursor') {
      throw new BadCriterionError(field, `there is no such criterion; known are ${[...CRITERIA, 'limit', 'cursor'].join(', ')}`)
    }
  }
  const cursor = textOf(fields, 'cursor')
  const search: SearchQuery = { criteria: readCriteria(fields), limit: limitOf(fields, maxLimit), ...(cursor !== undefined && { cursor }) }
  const { from, until } = search.criteria
  if (from !== undefined && until !== undefined && from > until) throw new BadCriterionError('until', 'it lies ahead of "from"')
  return search
}

/** Reads what is looked for where the answer has no pages: there `limit` and `cursor` would be ignored, so that they are refused. */
export function readFilter (fields: Fields): Criteria {
  const { criteria } = readSearch({ ...fields, limit: undefined, cursor: undefined })
  for (const field of ['limit', 'cursor']) {
    if (textOf(fields, field) !== undefined) throw new BadCriterionError(field, 'there are no pages here')
  }
  return criteria
}

function readCriteria (fields: Fields): Criteria {
  return Object.fromEntries(Object.entries(FIELDS).flatMap(([field, { key, read }]) => {
    const text = textOf(fields, field)
    return text === undefined ? [] : [[key, read(text, field)]]
  }))
}

function textOf (fields: Fields, field: string): string | undefined {
  const value = fields[field]
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string') return value
  throw new BadCriterionError(field, 'it may be given only once')
}

function limitOf (fields: Fields, maxLimit: number): number {
  const text = textOf(fields, 'limit') ?? String(Math.min(DEFAULT_LIMIT, maxLimit))
  const limit = Number(text)
  if (/^\d{1,9}$/.test(text) && limit >= 1 && limit <= maxLimit) return limit
  throw new BadCriterionError('limit', `"${text}" is not a whole number from 1 to ${maxLimit}`)
}

function readToken (text: string, field: string): string {
  const token = text.trim().toLowerCase()
  if (TOKEN_PATTERN.test(token)) return token
  throw new BadCriterionError(field, `"${text}" is not a token of six hexadecimal digits`)
}

function readIp (text: string, field: string): string {
  const ip = text.trim()
  if (isIP(ip) !== 0 || (ip.includes('/') && ipaddr.isValidCIDR(ip))) return ip
  throw new BadCriterionError(field, `"${text}" is neither an IP address nor a range such as 10.0.0.0/8`)
}

function readMethod (text: string, field: string): string {
  const method = text.trim().toUpperCase()
  if (/^[!#$%&'*+.^_`|~0-9A-Z-]{1,50}$/.test(method)) return method
  throw new BadCriterionError(field, `"${text}" is not an HTTP method`)
}

function readStatus (text: string, field: string): string {
  const status = text.trim().toLowerCase()
  if (/^[1-9](?:\d\d|xx)$/.test(status)) return status
  throw new BadCriterionError(field, `"${text}" is neither a status such as 404 nor a class such as 4xx`)
}

function readText (text: string, field: string): string {
  if (text.length <= MAX_TEXT) return text
  throw new BadCriterionError(field, `it has ${text.length} characters, ${MAX_TEXT} are the most`)
}

function readDuration (text: string, field: string): number {
  const duration = Number(text)
  if (/^\d+(?:\.\d+)?$/.test(text.trim()) && Number.isFinite(duration)) return duration
  throw new BadCriterionError(field, `"${text}" is not a number of milliseconds`)
}

const ISO_8601 = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/

/** ISO 8601; what has no zone is in UTC, as all times of a profile are; a date alone is its beginning, or as `until` its end. */
function readTime (text: string, field: string): number {
  const written = text.trim().replace(/^(\S+) (\d{2}:)/, '$1T$2')
  const time = Date.parse(/T.*(?:Z|[+-]\d{2}:?\d{2})$/.test(written) || !written.includes('T') ? written : `${written}Z`)
  if (!ISO_8601.test(text.trim()) || Number.isNaN(time) || !isDay(written.slice(0, 10))) throw new BadCriterionError(field, `"${text}" is not a time in ISO 8601, such as 2026-01-31T12:00:00Z`)
  return field === 'until' && !written.includes('T') ? time + 86_399_999 : time
}

// The 31st of February is taken for a day in March otherwise.
function isDay (day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}

function readFlag (text: string, field: string): boolean {
  if (text === '1' || text === '0') return text === '1'
  throw new BadCriterionError(field, `"${text}" is neither 1 nor 0`)
}
