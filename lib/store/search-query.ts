import { isIP } from 'node:net'
import createError from '@fastify/error'
import { parse as parseDuration } from '@lukeed/ms'
import type { Part } from '../parts/part.js'
import type { Criteria } from './criteria.js'
import { SORTS, type SearchOptions } from './storage.js'
import { TOKEN_PATTERN } from './token.js'

/** An invalid criterion, with the name of its field. */
export const BadCriterionError = createError('HINDSIGHT_BAD_CRITERION', 'Invalid "%s": %s.', 400)

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 500

/** A search, as the query of `/_profiler/search` and the flags of the command describe it. */
export type SearchQuery = SearchOptions & { criteria: Criteria }

type Fields = Readonly<Record<string, unknown>>

interface Field {
  key: keyof Criteria
  /** Undefined: the text is invalid. */
  read: (text: string) => unknown
  /** Completes the sentence `"…" is`. */
  problem: string
}

const MAX_TEXT = 500
/** Words; text in quotes may have blanks. */
const WORDS = /(?:[^\s"]|"[^"]*")+/g
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Z-]{1,50}$/
const ISO_8601 = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/
/** Milliseconds from the beginning of a day to its end. */
const REST_OF_DAY = 86_399_999

const TOKEN = {
  read: (text: string) => matching(TOKEN_PATTERN, text.toLowerCase()),
  problem: 'not a token of six hexadecimal digits'
}
const DURATION = { key: 'minDuration', read: readDuration, problem: 'not a duration such as >200ms or >1.5s' } as const
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
  min_duration: DURATION,
  slow: DURATION,
  from: { key: 'from', read: (text) => readTime(text), problem: TIME_PROBLEM },
  until: { key: 'until', read: (text) => readTime(text, REST_OF_DAY), problem: TIME_PROBLEM },
  error: { key: 'error', read: (text) => matching(/^[01]$/, text) && text === '1', problem: 'neither 1 nor 0' },
  parent: { key: 'parent', ...TOKEN }
}

const CRITERIA: readonly string[] = Object.keys(FIELDS)
const OTHER_FIELDS = ['q', 'sort', 'limit', 'cursor']

/** The criteria of the parts of an application. */
export function criteriaOf (parts: readonly Part[]): string[] {
  return parts.flatMap(({ search = {} }) => Object.keys(search)).filter((name) => !CRITERIA.includes(name))
}

/** Throws for a criterion of a collector that a search could not name. */
export function checkCriteria (collectors: readonly Part[]): void {
  for (const name of collectors.flatMap(({ search = {} }) => Object.keys(search))) {
    if (/^[a-z_]{1,50}$/.test(name) && !CRITERIA.includes(name) && !OTHER_FIELDS.includes(name)) continue
    throw new Error(`profiler.collectors: the criterion "${name}" of "search" is one of Hindsight, or not of the ` +
      'letters a to z and "_"')
  }
}

/**
 * Reads a search: fields, and `q` with criteria as one text. Throws a `BadCriterionError` at an invalid field.
 * `own`: the criteria of the parts of the application.
 */
export function readSearch (
  { q, ...given }: Fields, maxLimit = MAX_LIMIT, own: readonly string[] = []
): SearchQuery {
  const known = [...CRITERIA, ...own, ...OTHER_FIELDS]
  for (const field of Object.keys(given)) {
    if (known.includes(field)) continue
    throw new BadCriterionError(field, `there is no such criterion; use one of ${known.join(', ')}`)
  }
  const fields: Record<string, unknown> = { ...given }
  for (const [field, value] of readText(textOf({ q }, 'q') ?? '', [...CRITERIA, ...own])) {
    // Words are parts of the URL; all of them must match.
    const other = field === 'url' ? undefined : textOf(fields, field)
    if (other !== undefined) throw new BadCriterionError(field, 'it may be given only once')
    fields[field] = `${field === 'url' ? textOf(fields, 'url') ?? '' : ''} ${value}`.trim()
  }
  const cursor = textOf(fields, 'cursor')
  const limit = limitOf(fields, maxLimit)
  const order = textOf(fields, 'sort')
  const sort = SORTS.find((sort) => sort === order)
  if (sort !== order) throw new BadCriterionError('sort', `"${order}" is none of ${SORTS.join(', ')}`)
  const criteria = readCriteria(fields, own)
  return { criteria, limit, ...(sort !== undefined && { sort }), ...(cursor !== undefined && { cursor }) }
}

/** The criteria of a text such as `status:5xx "with blank" slow:>200ms`; a word without a name is a part of the URL. */
function readText (text: string, criteria: readonly string[]): Array<[field: string, value: string]> {
  if (text.length > MAX_TEXT) throw tooLong('q', text)
  if (text.split('"').length % 2 === 0) throw new BadCriterionError('q', 'a quotation mark is not closed')
  return (text.match(WORDS) ?? []).map((word) => {
    const [, name = 'url', value = word] = /^([a-z_]+):(?!\/\/)(.*)$/i.exec(word) ?? []
    const field = name.toLowerCase()
    if (!criteria.includes(field)) {
      const advice = `use one of ${criteria.join(', ')}; a part of a URL with a colon is written in quotes, "${word}"`
      throw new BadCriterionError(name, `there is no such criterion; ${advice}`)
    }
    const content = value.replaceAll('"', '').trim()
    if (content === '') throw new BadCriterionError(name, 'it has no value')
    return [field, content]
  })
}

function readCriteria (fields: Fields, own: readonly string[]): Criteria {
  const criteria: Record<string, unknown> = {}
  for (const [field, { key, read, problem }] of Object.entries(FIELDS)) {
    const text = textOf(fields, field)
    if (text === undefined) continue
    if (text.length > MAX_TEXT) throw tooLong(field, text)
    criteria[key] = read(text)
    if (criteria[key] === undefined) throw new BadCriterionError(field, `"${text}" is ${problem}`)
  }
  const values = own.map((name) => [name, textOf(fields, name)]).filter(([, text]) => text !== undefined)
  if (values.length > 0) criteria.values = Object.fromEntries(values)
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

/** Milliseconds; `>` and the unit may be missing. */
function readDuration (text: string): number | undefined {
  return /^\s*>?=?\s*\d/.test(text) ? parseDuration(text.replace(/^[\s>=]+/, '').trim()) : undefined
}

/** Milliseconds since the epoch, in UTC where a time has no zone; `rest` is added to a date without a time. */
function readTime (text: string, rest = 0): number | undefined {
  const age = /^\s*\d+\s*[a-z]+\s*$/i.test(text) ? parseDuration(text.trim()) : undefined
  if (age !== undefined) return Math.max(0, Date.now() - age)
  const [written = '', time, zone] = ISO_8601.exec(text.trim()) ?? []
  const parsed = Date.parse(time === undefined || zone !== undefined ? written : `${written}Z`)
  return Number.isNaN(parsed) ? undefined : parsed + (time === undefined ? rest : 0)
}
