import { isIP } from 'node:net'
import createError from '@fastify/error'
import { parse as parseDuration } from '@lukeed/ms'
import { parts as allParts } from '../parts/index.js'
import type { Criterion, Part } from '../parts/part.js'
import type { Criteria } from './criteria.js'
import { ISSUE_SEPARATOR, TOKEN_PATTERN, type ProfileSummary } from './profile.js'
import { SORTS, type SearchOptions } from './storage.js'

const BadCriterionError = createError('HINDSIGHT_BAD_CRITERION', 'Invalid "%s": %s.', 400)

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 500

/** A search, as the query of `/_profiler/search` and the flags of the command describe it. */
export type SearchQuery = SearchOptions & { criteria: Criteria }

interface Field {
  key?: keyof Criteria
  /** Undefined: the text is invalid. Without it, each text is valid. */
  read?: (text: string) => unknown
  /** Completes the sentence `"…" is`. */
  problem?: string
  /** The line of the command's help; without one, the command does not have the option. */
  help?: string
  /** Whether it is one of the values that are stored for searches. */
  isValue?: true
}

/** The criteria of the parts of Hindsight, besides those that are fields of each profile. */
export const PART_CRITERIA: Readonly<Record<string, Criterion>> = Object.fromEntries(allParts
  .flatMap(({ search = {} }) => Object.entries(search))
  .filter((entry): entry is [string, Criterion] => typeof entry[1] === 'object'))

/** The values of parts that lists show as text: those without a column. Names with a capital letter are not shown. */
export function factsOf ({ values = {} }: ProfileSummary): string[] {
  return Object.entries(values)
    .filter(([name]) => !/[A-Z]/.test(name) && PART_CRITERIA[name]?.column === undefined)
    .flatMap(([name, value]) => {
      if (name === 'issues') return value.split(ISSUE_SEPARATOR).filter((text) => text !== 'yes')
      return value === 'yes' ? name : `${name}: ${value}`
    })
}

const MAX_TEXT = 500
/** Words; text in quotes may have blanks. */
const WORDS = /(?:[^\s"]|"[^"]*")+/g
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Z-]{1,50}$/
const ISO_8601 = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/
const REST_OF_DAY = 24 * 60 * 60 * 1_000 - 1

const TOKEN = {
  read: (text: string) => matching(TOKEN_PATTERN, text.toLowerCase()),
  problem: 'not a token of six hexadecimal digits'
}
const DURATION = { key: 'minDuration', read: readDuration, problem: 'not a duration such as >200ms or >1.5s' } as const
const TIME_PROBLEM = 'neither a time in ISO 8601, such as 2026-01-31T12:00:00Z, nor an age such as 1h'
const FROM = { key: 'from', read: (text: string) => readTime(text), problem: TIME_PROBLEM } as const

export const CRITERIA: Readonly<Record<string, Field>> = {
  token: { ...TOKEN, help: 'token' },
  ip: { read: readIp, problem: 'not an IP address', help: 'IP address' },
  method: {
    read: (text) => matching(METHOD, text.toUpperCase()),
    problem: 'not an HTTP method',
    help: 'GET, POST, …'
  },
  status: {
    read: (text) => matching(/^[1-9](?:\d\d|xx)$/, text.toLowerCase()),
    problem: 'neither a status such as 404 nor a class such as 4xx',
    help: '404, or a class such as 4xx'
  },
  url: { help: 'parts of the URL, separated by blanks' },
  // The list shows the name of a route without its methods.
  route: {
    read: (text) => text.startsWith('/') ? `* ${text}` : text,
    help: 'name of the route; * for any part of it'
  },
  exception: { help: 'text in the name or message of an exception' },
  min_duration: DURATION,
  slow: { ...DURATION, help: 'minimum duration, such as 200ms' },
  from: { ...FROM, help: 'time in ISO 8601 (UTC without a zone), or an age such as 1h' },
  since: FROM,
  until: {
    read: (text) => readTime(text, REST_OF_DAY),
    problem: TIME_PROBLEM,
    help: 'time in ISO 8601, or an age such as 1h'
  },
  error: {
    read: (text) => matching(/^(?:[01]|true|false)$/, text) && /1|true/.test(text),
    problem: 'neither 1 nor 0',
    help: '1: failures only; 0: successes only'
  },
  parent: { ...TOKEN, help: 'token of the parent request' },
  issues: {
    // The value is any text.
    read: (text) => matching(/^yes$/, text.toLowerCase()) && '',
    problem: 'not "yes"',
    help: 'profiles with an error or a warning',
    isValue: true
  },
  ...Object.fromEntries(Object.entries(PART_CRITERIA).map(([name, { pattern, ...field }]) => [name, {
    ...field,
    isValue: true,
    // A number without an operator is the whole value.
    read: (text: string) => matching(pattern, text.toLowerCase())?.replace(/^(?=\d{1,9}$)/, '=')
  }]))
}

const OTHER_FIELDS = ['q', 'sort', 'limit', 'cursor']

export function criteriaOf (parts: readonly Part[]): string[] {
  return parts.flatMap(({ search = {} }) => Object.keys(search)).filter((name) => !Object.hasOwn(CRITERIA, name))
}

/** Throws for a criterion of a collector that a search could not name. */
export function checkCriteria (collectors: readonly Part[]): void {
  const reserved = [...Object.keys(CRITERIA), ...OTHER_FIELDS]
  for (const name of collectors.flatMap(({ search = {} }) => Object.keys(search))) {
    if (/^[a-z_]{1,50}$/.test(name) && !reserved.includes(name)) continue
    throw new Error(`profiler.collectors: the criterion "${name}" of "search" is one of Hindsight, or not of the ` +
      'letters a to z and "_"')
  }
}

/**
 * Reads a search: fields, and `q` with criteria as one text. Throws a `BadCriterionError` at an invalid field.
 * `added`: the criteria of the parts of the application.
 */
export function readSearch (
  { q, ...given }: Readonly<Record<string, unknown>>, maxLimit = MAX_LIMIT, added: readonly string[] = []
): SearchQuery {
  const names = [...Object.keys(CRITERIA), ...added]
  const known = [...names, ...OTHER_FIELDS]
  const texts = new Map<string, string>()
  const not: Criteria[] = []
  for (const [field, value] of Object.entries(given)) {
    if (!known.includes(field)) {
      throw new BadCriterionError(field, `there is no such criterion; use one of ${known.join(', ')}`)
    }
    texts.set(field, textOf(field, value))
  }
  for (const [field, value, isExcluded] of readText(textOf('q', q), names)) {
    if (isExcluded) {
      not.push(criteriaFrom(new Map([[field, value]]), names, added))
      continue
    }
    const other = texts.get(field) ?? ''
    // Words are parts of the URL; all of them must match.
    if (other !== '' && field !== 'url') throw new BadCriterionError(field, 'it may be given only once')
    texts.set(field, `${other} ${value}`.trim())
  }
  const found = criteriaFrom(texts, names, added)
  const criteria = not.length === 0 ? found : { ...found, not }
  const limit = readLimit(texts.get('limit') || String(Math.min(DEFAULT_LIMIT, maxLimit)), maxLimit)
  const cursor = texts.get('cursor')
  const order = texts.get('sort')
  const sort = SORTS.find((sort) => sort === order)
  if (order && sort === undefined) throw new BadCriterionError('sort', `"${order}" is none of ${SORTS.join(', ')}`)
  return { criteria, limit, ...sort && { sort }, ...cursor && { cursor } }
}

/** The criteria of valid texts, by the names of their fields. */
function criteriaFrom (
  texts: ReadonlyMap<string, string>, names: readonly string[], added: readonly string[]
): Criteria {
  const criteria: Record<string, unknown> = {}
  for (const name of names) {
    const text = texts.get(name)
    if (!text) continue
    const { read = String, problem, key = name, isValue = added.includes(name) } = CRITERIA[name] ?? {}
    const value = read(text)
    if (value === undefined) throw new BadCriterionError(name, `"${text}" is ${problem}`)
    if (isValue) {
      criteria.values = { ...criteria.values as object, [name]: value }
    } else criteria[key] = value
  }
  return criteria
}

/** The text of a field; empty where it was not filled in. */
function textOf (field: string, value: unknown = ''): string {
  if (typeof value !== 'string') throw new BadCriterionError(field, 'it may be given only once')
  if (value.length <= MAX_TEXT) return value
  throw new BadCriterionError(field, `it has ${value.length} characters; the maximum is ${MAX_TEXT}`)
}

/**
 * The criteria of a text such as `status:5xx "with blank" -url:/public slow:>200ms`; a word without a name is a part of
 * the URL, and one with `-` excludes.
 */
function readText (
  text: string, criteria: readonly string[]
): Array<[field: string, value: string, isExcluded: boolean]> {
  if (text.split('"').length % 2 === 0) throw new BadCriterionError('q', 'a quotation mark is not closed')
  return (text.match(WORDS) ?? []).map((written) => {
    const word = written.replace(/^-(?=.)/, '')
    const [, name = 'url', value = word] = /^([a-z_]+(?:\+\d)?):(?!\/\/)(.*)$/i.exec(word) ?? []
    const field = name.toLowerCase()
    if (!criteria.includes(field)) {
      const advice = `use one of ${criteria.join(', ')}; a part of a URL with a colon is written in quotes, "${word}"`
      throw new BadCriterionError(name, `there is no such criterion; ${advice}`)
    }
    const content = value.replaceAll('"', '').trim()
    if (content === '') throw new BadCriterionError(name, 'it has no value')
    return [field, content, word !== written]
  })
}

function readLimit (text: string, maxLimit: number): number {
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
  return isIP(ip) === 0 ? undefined : ip
}

/** Milliseconds; `>` and the unit may be missing. */
function readDuration (text: string): number | undefined {
  return /^>?=?\s*\d/.test(text.trim()) ? parseDuration(text.replace(/^[\s>=]+/, '').trim()) : undefined
}

/** Milliseconds since the epoch, in UTC where a time has no zone; `rest` is added to a date without a time. */
function readTime (text: string, rest = 0): number | undefined {
  const age = /^\s*\d+\s*[a-z]+\s*$/i.test(text) ? parseDuration(text.trim()) : undefined
  if (age !== undefined) return Math.max(0, Date.now() - age)
  const [written = '', time, zone] = ISO_8601.exec(text.trim()) ?? []
  const parsed = Date.parse(time === undefined || zone !== undefined ? written : `${written}Z`)
  if (Number.isNaN(parsed)) return undefined
  return time === undefined ? parsed + rest : parsed
}
