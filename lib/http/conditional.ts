import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import fresh from 'fresh'

/** What identifies the current representation of a resource (RFC 9110, section 8.8). */
export interface Validators {
  /** An entity tag as it is sent, `"…"` or `W/"…"`; null where there is none. */
  etag: string | null
  /** Milliseconds since the epoch, whole seconds; null where it is unknown. */
  lastModified: number | null
}

/** The result of the preconditions: `fresh` is answered with 304, `failed` with 412. */
export type Outcome = 'unconditional' | 'stale' | 'fresh' | 'failed'

export interface Evaluation {
  outcome: Outcome
  /** The header that decided; null where the request has none, or none applies. */
  precondition: string | null
}

const CONDITIONS = ['if-none-match', 'if-modified-since', 'if-match', 'if-unmodified-since'] as const
const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/

/** Whether a request has a precondition that an origin server evaluates; `If-Range` only concerns ranges. */
export function isConditional (headers: IncomingHttpHeaders): boolean {
  return CONDITIONS.some((name) => headers[name] !== undefined)
}

/** Whether a method only reads, so that it may be answered with 304. */
export function isRetrieval (method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Evaluates the preconditions of a request in the order of RFC 9110, section 13.2.2. */
export function evaluate (method: string, headers: IncomingHttpHeaders, validators: Validators): Evaluation {
  const { etag, lastModified } = validators
  const exists = etag !== null || lastModified !== null
  const first = strongPrecondition(method, headers, validators, exists)
  if (first.outcome === 'failed') return first

  const ifNoneMatch = headers['if-none-match']?.trim() ?? ''
  if (ifNoneMatch !== '') {
    const matched = exists && fresh({ 'if-none-match': ifNoneMatch }, { etag: etag ?? '' })
    const match = isRetrieval(method) ? 'fresh' : 'failed'
    return { outcome: matched ? match : 'stale', precondition: 'If-None-Match' }
  }
  const since = dateOf(headers['if-modified-since'])
  if (!isRetrieval(method) || lastModified === null || since === null) return first
  return { outcome: lastModified <= since ? 'fresh' : 'stale', precondition: 'If-Modified-Since' }
}

/** `If-Match`, or else `If-Unmodified-Since`, which the library does not evaluate. */
function strongPrecondition (
  method: string, headers: IncomingHttpHeaders, { etag, lastModified }: Validators, exists: boolean
): Evaluation {
  const unconditional: Evaluation = { outcome: 'unconditional', precondition: null }
  const ifMatch = headers['if-match']?.trim() ?? ''
  if (ifMatch !== '') {
    const tags: string[] = ifMatch.match(/(?:W\/)?"[^"]*"/g) ?? []
    const matched = ifMatch === '*' ? exists : etag !== null && !etag.startsWith('W/') && tags.includes(etag)
    if (matched) return { outcome: 'stale', precondition: 'If-Match' }
    // Without an entity tag a read is harmless, and a change is not.
    return isRetrieval(method) && etag === null ? unconditional : { outcome: 'failed', precondition: 'If-Match' }
  }
  const since = dateOf(headers['if-unmodified-since'])
  if (since === null || lastModified === null) return unconditional
  return { outcome: lastModified > since ? 'failed' : 'stale', precondition: 'If-Unmodified-Since' }
}

/**
 * An entity tag from any text: kept if it is one, quoted if it can be, or else hashed. A comma would separate two tags.
 */
export function entityTag (text: string, weak: boolean): string {
  const [, prefix = weak ? 'W/' : '', quoted] = /^(W\/)?("[\x21\x23-\x2b\x2d-\x7e]*")$/.exec(text) ?? []
  if (quoted !== undefined) return prefix + quoted
  const isPlain = /^[\x21\x23-\x2b\x2d-\x7e]{1,128}$/.test(text)
  return `${prefix}"${isPlain ? text : createHash('sha256').update(text).digest('base64url')}"`
}

/** The validators that the headers of a finished response contain; malformed ones are ignored. */
export function validatorsOf (etag: unknown, lastModified: unknown): Validators {
  const date = lastModified instanceof Date ? lastModified.toUTCString() : lastModified
  return {
    etag: typeof etag === 'string' && ENTITY_TAG.test(etag) ? etag : null,
    lastModified: typeof date === 'string' ? dateOf(date) : null
  }
}

/** Milliseconds without their fraction of a second, which HTTP dates do not have. */
export function wholeSeconds (milliseconds: number): number {
  return Math.floor(milliseconds / 1000) * 1000
}

// The first number of each of the three forms is the day of the month.
const HTTP_DATE = /^[A-Z][a-z]{2,8},? [A-Za-z ]*(\d{1,2})[\w -]* \d\d:\d\d:\d\d(?: GMT| \d{4})$/

/** An HTTP date (RFC 9110, section 5.6.7) in milliseconds since the epoch; null for other text. */
function dateOf (text: string | undefined = ''): number | null {
  const [, day] = HTTP_DATE.exec(text) ?? []
  // The form of asctime has no zone. `Date.parse` reads the 30th of February as a day in March.
  const date = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`)
  return new Date(date).getUTCDate() === Number(day) ? date : null
}
