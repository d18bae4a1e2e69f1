import { diffArrays } from 'diff/lib/diff/array.js'
import { isObject, type Data } from '../view/text.js'

/** A value or an item that is not the same in both profiles. */
export interface Difference {
  /** Its name within the section: a header, the path of a field, a listener. */
  what: string
  kind: 'changed' | 'only-a' | 'only-b'
  /** The value in each profile; null where there is none. */
  a: unknown
  b: unknown
}

// Each expression begins at a literal, a digit or the edge of a word, so that hostile text takes linear time.
const VOLATILE: ReadonlyArray<readonly [expression: RegExp, replacement: string]> = [
  [/'nonce-[^'\s]{1,200}'/g, "'nonce-…'"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '(uuid)'],
  [/\bboundary=[^;,\s]{1,200}/g, 'boundary=…'],
  [/\breq-[0-9a-z]{1,12}\b/g, '(request)'],
  [/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?/g, '(time)'],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT\b/g, '(time)'],
  [/\b(?:\d{1,3} min \d\d? s|\d{1,12}(?:,\d{3}){0,3}(?:\.\d{1,12})? ?(?:ms|µs)|\d{2,3}(?:\.\d)? s)\b/g, '(duration)']
]

const HEADERS = new Set([
  'x-debug-token', 'x-debug-token-link', 'x-debug-exception', 'x-debug-exception-file', 'date', 'age', 'x-request-id',
  'request-id', 'x-correlation-id', 'traceparent', 'tracestate', 'server-timing',
  // They follow from the body, from an earlier response or from the connection.
  'content-length', 'connection', 'if-none-match', 'if-modified-since', 'idempotency-key'
])
const FIELDS = new Set([
  'time', 'timestamp', 'start', 'started', 'end', 'ended', 'duration', 'responseTime', 'reqId', 'requestId', 'traceId',
  'spanId', 'parentId', 'pid', 'port', 'remotePort', 'nonce', 'nonces',
  // Of a JSON Web Token (RFC 7519).
  'iat', 'exp', 'nbf', 'jti'
])

// The cost of a diff grows with the number of edits.
const MAX_EDITS = 2_000
const MAX_PATHS = 2_000
const MAX_DEPTH = 16

/** Values of one profile by their names, such as `status`, `header accept` and `query x`. */
export type Values = Readonly<Record<string, unknown>>

/** One part of two profiles, whose differences it collects. A value is undefined when a profile does not have it. */
export class Section {
  readonly name: string
  readonly label: string
  readonly differences: Difference[] = []
  /** The number of equal values. */
  equal = 0
  /** Differences of values that are different for each request: ids, times, nonces. */
  readonly always: Difference[] = []
  /** Who wrote the values; undefined: the code of the application. */
  readonly from: string | undefined
  readonly #tokens: readonly [a: string, b: string]

  constructor (name: string, label: string, tokens: readonly [a: string, b: string], from?: string) {
    this.name = name
    this.label = label
    this.#tokens = tokens
    this.from = from
  }

  /** A text of profile `a` or `b` without its volatile parts. */
  normalized (text: string, side: 'a' | 'b'): string {
    return normalizeVolatile(text, this.#tokens[side === 'a' ? 0 : 1])
  }

  /** Compares the values with the same name. */
  values (a: Values, b: Values): void {
    const valueOf = (values: Values, what: string): unknown => Object.hasOwn(values, what) ? values[what] : undefined
    for (const what of Object.keys({ ...a, ...b })) this.value(what, valueOf(a, what), valueOf(b, what))
  }

  value (what: string, a: unknown, b: unknown): void {
    if (a === undefined && b === undefined) return
    const [textA, textB] = [textOf(a), textOf(b)]
    // The number 2 and the text "2" are two values.
    const sameType = typeof a === typeof b
    if (sameType && textA === textB) {
      this.equal++
      return
    }
    const always = isVolatile(what) || (sameType && this.normalized(textA, 'a') === this.normalized(textB, 'b'))
    this[always ? 'always' : 'differences'].push({ what, kind: kindOf(a, b), a: a ?? null, b: b ?? null })
  }
}

export function kindOf (a: unknown, b: unknown): Difference['kind'] {
  if (a === undefined) return 'only-b'
  return b === undefined ? 'only-a' : 'changed'
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value) ?? ''
}

/**
 * The values of nested data by their paths, such as `user.roles[0].name`, after the prefix and a space. A list of plain
 * values is one value.
 */
export function flattenPaths (data: unknown, prefix = ''): Values {
  const leaves = new Map<string, unknown>()
  const walk = (value: unknown, path: string, depth: number): void => {
    if (leaves.size >= MAX_PATHS) return
    if (depth >= MAX_DEPTH || isLeaf(value)) leaves.set(`${prefix} ${path === '' ? 'value' : path}`.trim(), value)
    else if (Array.isArray(value)) value.forEach((item, i) => walk(item, `${path}[${i}]`, depth + 1))
    else {
      for (const [name, item] of Object.entries(value as Data)) {
        walk(item, path === '' ? name : `${path}.${name}`, depth + 1)
      }
    }
  }
  const isEmpty = isObject(data) && Object.keys(data).length === 0
  if (data !== undefined && !isEmpty) walk(data, '', 0)
  return Object.fromEntries(leaves)
}

function isLeaf (value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item !== 'object' || item === null)
  return !isObject(value) || Object.keys(value).length === 0
}

/** A text with replacements for what is different in each request: the token, ids, nonces, times and durations. */
export function normalizeVolatile (text: string, token: string): string {
  return VOLATILE.reduce((result, [expression, replacement]) => result.replace(expression, replacement),
    text.replaceAll(token, '(token)'))
}

/** Whether the value of a header or field, such as `header date`, is different in each request. */
function isVolatile (what: string): boolean {
  if (what.startsWith('header ')) return HEADERS.has(what.slice('header '.length).toLowerCase())
  return FIELDS.has(what.replace(/\[\d+\]$/, '').split(/[. ]/).at(-1) as string)
}

/** Pairs the items of two lists that have the same key, in order; the partner of any other item is undefined. */
export function alignItems<T> (
  a: readonly T[], b: readonly T[], keyOf: (item: T, side: 'a' | 'b') => string
): Array<readonly [a: T | undefined, b: T | undefined]> {
  const chunks = diffArrays(a.map((item) => keyOf(item, 'a')), b.map((item) => keyOf(item, 'b')), {
    maxEditLength: MAX_EDITS
  })
  if (chunks === undefined) return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => [a[i], b[i]] as const)
  const [restA, restB] = [[...a], [...b]]
  return chunks.flatMap(({ added, removed, count }) => {
    const [ofA, ofB] = [added ? [] : restA.splice(0, count), removed ? [] : restB.splice(0, count)]
    return Array.from({ length: count }, (_, i) => [ofA[i], ofB[i]] as const)
  })
}
