import { isIP } from 'node:net'
import createError from '@fastify/error'
import { parse as parseDuration } from '@lukeed/ms'
import type { Criteria } from './storage/criteria.js'
import { SORTS, type Sort } from './storage/storage.js'
import { TOKEN_PATTERN } from './token.js'

/** An invalid criterion, with the name of its field. */
export const BadCriterionError = createError('HINDSIGHT_BAD_CRITERION', 'Invalid "%s": %s.', 400)

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 500

/** A search, as the query of `/_profiler/search` and the flags of the command describe it. */
export interface SearchQuery {
  criteria: Criteria
  limit: number
  sort?: Sort
  cursor?: string
}

type Fields = Readonly<Record<string, unknown>>

interface Field {
  key: keyof Criteria
  /** Undefined: the text is invalid. */
  read: (text: string) => unknown
  /** Completes the sentence `"…" is`. */
  problem: string
}

const MAX_TEXT = 500
/** Words; a duration may have a blank before its unit, and text in quotes may have any. */
const WORDS = /slow:[>=]*[\d.]+\s+(?:ms|s|m|min|h)(?!\S)|(?:[^\s"]|"[^"]*")+/gi
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Z-]{1,50}$/
const ISO_8601 = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/

const TOKEN = {
  read: (text: string) => matching(TOKEN_PATTERN, text.toLowerCase()),
  problem: 'not a token of six hexadecimal digits'
}
const TIME_PROBLEM = 'neither a time in ISO 8601, such as 2026-01-31T12:00:00Z, nor an age such as 1h'
const ANY_TEXT = { read: (text: string) => text, problem: '' }

const FIELDS: Readonly<Record<string, Field>> = {
  token: { key: 'token', ...TOKEN },
  ip: { key: 'ip', read: readIp, problem: 'not an IP address' },
  method: { key: 'method', read: (text) => matching(METHOD, text.toUpperCase()), problem: 'not an HTTP method' },
  status: {
    key: 'status',
    read: (text) => matching(/^[1-9](?:\d\d|xx)$/, text.toLowerCase()),
    problem: 'neither a status such as 404 nor a class such as 4xx'
  },
  url: { key: 'url', ...ANY_TEXT },
  // The list shows the name of a route without its methods.
  route: { key: 'route', read: (text) => text.startsWith('/') ? `* ${text}` : text, problem: '' },
  exception: { key: 'exception', ...ANY_TEXT },
  min_duration: { key: 'minDuration', read: readDuration, problem: 'not a number of milliseconds' },
  slow: { key: 'minDuration', read: readSlow, problem: 'not a duration such as >200ms or >1.5s' },
  from: { key: 'from', read: (text) => readTime(text)?.from, problem: TIME_PROBLEM },
  until: { key: 'until', read: (text) => readTime(text)?.until, problem: TIME_PROBLEM },
  error: { key: 'error', read: (text) => matching(/^[01]$/, text) && text === '1', problem: 'neither 1 nor 0' },
  parent: { key: 'parent', ...TOKEN }
}

/** The names of the criteria in a query. */
const CRITERIA: readonly string[] = Object.keys(FIELDS)

/**
 * Reads a search; an empty field counts as missing. The field `q` has criteria as one text. Throws a
 * `BadCriterionError` at the first invalid field.
 */
export function readSearch ({ q, ...given }: Fields, maxLimit = MAX_LIMIT): SearchQuery {
  const known = [...CRITERIA, 'q', 'sort', 'limit', 'cursor']
  for (const field of Object.keys(given)) {
    if (known.includes(field)) continue
    throw new BadCriterionError(field, `there is no such criterion; known are ${known.join(', ')}`)
  }
  const fields: Record<string, unknown> = { ...given }
  for (const [field, value] of readText(textOf({ q }, 'q') ?? '')) {
    // Words are parts of the URL; all of them must match.
    const other = field === 'url' ? undefined : textOf(fields, field)
    if (other !== undefined) throw new BadCriterionError(field, 'it may be given only once')
    fields[field] = `${field === 'url' ? textOf(fields, 'url') ?? '' : ''} ${value}`.trim()
  }
  const cursor = textOf(fields, 'cursor')
  const limit = limitOf(fields, maxLimit)
  const sort = SORTS.find((sort) => sort === (textOf(fields, 'sort') ?? '-time'))
  if (sort === undefined) {
    throw new BadCriterionError('sort', `"${textOf(fields, 'sort')}" is none of ${SORTS.join(', ')}`)
  }
  const criteria = readCriteria(fields)
  const { from, until } = criteria
  if (from !== undefined && until !== undefined && from > until) {
    throw new BadCriterionError('until', 'it is before "from"')
  }
  return { criteria, limit, ...(sort !== '-time' && { sort }), ...(cursor !== undefined && { cursor }) }
}

/** The criteria of a text such as `status:5xx "with blank" slow:>200ms`; a word without a name is a part of the URL. */
function readText (text: string): Array<[field: string, value: string]> {
  if (text.length > MAX_TEXT) throw tooLong('q', text)
  if (text.split('"').length % 2 === 0) throw new BadCriterionError('q', 'a quotation mark is not closed')
  return (text.match(WORDS) ?? []).map((word) => {
    const [, name = 'url', value = word] = /^([a-z_]+):(?!\/\/)(.*)$/i.exec(word) ?? []
    const field = name.toLowerCase()
    if (!CRITERIA.includes(field)) {
      const advice = `known are ${CRITERIA.join(', ')}; a part of a URL with a colon is written in quotes, "${word}"`
      throw new BadCriterionError(name, `there is no such criterion; ${advice}`)
    }
    const content = value.replaceAll('"', '').trim()
    if (content === '') throw new BadCriterionError(name, 'it has no value')
    return [field, content]
  })
}

/** Reads the criteria of a response that has no pages: there `limit`, `sort` and `cursor` are invalid. */
export function readFilter (fields: Fields): Criteria {
  const field = ['limit', 'sort', 'cursor'].find((name) => textOf(fields, name) !== undefined)
  if (field !== undefined) throw new BadCriterionError(field, 'this address has no pages')
  return readSearch(fields).criteria
}

function readCriteria (fields: Fields): Criteria {
  const criteria: Record<string, unknown> = {}
  for (const [field, { key, read, problem }] of Object.entries(FIELDS)) {
    const text = textOf(fields, field)
    if (text === undefined) continue
    if (text.length > MAX_TEXT) throw tooLong(field, text)
    criteria[key] = read(text)
    if (criteria[key] === undefined) throw new BadCriterionError(field, `"${text}" is ${problem}`)
  }
  return criteria
}

function tooLong (field: string, text: string): Error {
  return new BadCriterionError(field, `it has ${text.length} characters; the maximum is ${MAX_TEXT}`)
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

function matching (pattern: RegExp, text: string): string | undefined {
  const trimmed = text.trim()
  return pattern.test(trimmed) ? trimmed : undefined
}

function readIp (text: string): string | undefined {
  const ip = text.trim()
  return isIP(ip) !== 0 ? ip : undefined
}

function readDuration (text: string): number | undefined {
  const digits = matching(/^\d+(?:\.\d+)?$/, text)
  return digits !== undefined && Number.isFinite(Number(digits)) ? Number(digits) : undefined
}

/** Milliseconds; `>` and the unit may be missing. */
function readSlow (text: string): number | undefined {
  return /^\s*>?=?\s*\d/.test(text) ? parseDuration(text.replace(/^[\s>=]+/, '').trim()) : undefined
}

/** The first and the last millisecond of a time, in UTC where it has no zone; of a date, those of the day. */
function readTime (text: string): { from: number, until: number } | undefined {
  const age = /^\s*\d+\s*[a-z]+\s*$/i.test(text) ? parseDuration(text.trim()) : undefined
  if (age !== undefined) {
    const time = Math.max(0, Date.now() - age)
    return { from: time, until: time }
  }
  const written = matching(ISO_8601, text)?.replace(' ', 'T')
  if (written === undefined) return undefined
  const hasZone = !written.includes('T') || /(?:Z|[+-]\d{2}:?\d{2})$/.test(written.slice(10))
  const time = Date.parse(hasZone ? written : `${written}Z`)
  // `Date.parse` accepts the 31st of February.
  const day = new Date(`${written.slice(0, 10)}T00:00:00Z`)
  if (Number.isNaN(time) || !day.toISOString().startsWith(written.slice(0, 10))) return undefined
  return { from: time, until: written.includes('T') ? time : time + 86_399_999 }
}
