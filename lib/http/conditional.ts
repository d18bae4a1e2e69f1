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

/** The result of the preconditions: `fresh` is answered with 304. */
export type Outcome = 'unconditional' | 'stale' | 'fresh'

export interface Evaluation {
  outcome: Outcome
  /** The header that decided; null where the request has none, or none applies. */
  precondition: 'If-None-Match' | 'If-Modified-Since' | null
}

/** Whether a method only reads, so that it may be answered with 304. */
export function isRetrieval (method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Evaluates the preconditions of a retrieval (RFC 9110, section 13.2.2): a tag precedes a date. */
export function evaluate (headers: IncomingHttpHeaders, { etag, lastModified }: Validators): Evaluation {
  const ifNoneMatch = headers['if-none-match']?.trim() ?? ''
  if (ifNoneMatch !== '') {
    const exists = etag !== null || lastModified !== null
    const matched = exists && fresh({ 'if-none-match': ifNoneMatch }, { etag: etag ?? '' })
    return { outcome: matched ? 'fresh' : 'stale', precondition: 'If-None-Match' }
  }
  const since = dateOf(headers['if-modified-since'])
  if (lastModified === null || since === null) return { outcome: 'unconditional', precondition: null }
  return { outcome: lastModified <= since ? 'fresh' : 'stale', precondition: 'If-Modified-Since' }
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

/** Milliseconds without their fraction of a second, which HTTP dates do not have. */
export function wholeSeconds (milliseconds: number): number {
  return Math.floor(milliseconds / 1000) * 1000
}

/** An HTTP date (RFC 9110, section 5.6.7) in milliseconds since the epoch; null for other text and obsolete forms. */
function dateOf (text: string | undefined = ''): number | null {
  const date = Date.parse(text)
  return new Date(date).toUTCString() === text ? date : null
}
