import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { parseHttpDate } from './http-date.js'

/** What identifies the current representation of a resource (RFC 9110, section 8.8). */
export interface Validators {
  /** An entity tag as it is sent, `"…"` or `W/"…"`; null where there is none. */
  etag: string | null
  /** Milliseconds since the epoch, whole seconds; null where it is not known. */
  lastModified: number | null
}

/** What the preconditions of a request say: `fresh` is answered with 304, `failed` with 412. */
export type Outcome = 'unconditional' | 'stale' | 'fresh' | 'failed'

export interface Evaluation {
  outcome: Outcome
  /** The field that decided; null where none was there, or none could be judged. */
  precondition: string | null
}

const ENTITY_TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g
/** Characters of a list of entity tags that are read. */
const MAX_TAGS_LENGTH = 8_192
const UNCONDITIONAL: Evaluation = { outcome: 'unconditional', precondition: null }

/** Whether a request has a precondition that an origin server looks at; `If-Range` is about ranges only. */
export function isConditional (headers: IncomingHttpHeaders): boolean {
  return headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined ||
    headers['if-match'] !== undefined || headers['if-unmodified-since'] !== undefined
}

/** Whether a method only reads (and may thus be answered with 304). */
export function isRetrieval (method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Evaluates the preconditions of a request in the order of RFC 9110, section 13.2.2. */
export function evaluate (method: string, headers: IncomingHttpHeaders, { etag, lastModified }: Validators): Evaluation {
  const retrieval = isRetrieval(method)
  const exists = etag !== null || lastModified !== null
  let passed = UNCONDITIONAL

  const ifMatch = tagsOf(headers['if-match'])
  if (ifMatch !== null) {
    const matched = ifMatch === '*' ? exists : etag !== null && !etag.startsWith('W/') && ifMatch.includes(etag)
    // Reading what has no entity tag (yet) harms nobody; changing it could.
    if (!matched && !(retrieval && etag === null)) return { outcome: 'failed', precondition: 'If-Match' }
    if (matched) passed = { outcome: 'stale', precondition: 'If-Match' }
  } else {
    const since = dateOf(headers['if-unmodified-since'])
    if (since !== null && lastModified !== null) {
      passed = { outcome: lastModified > since ? 'failed' : 'stale', precondition: 'If-Unmodified-Since' }
      if (passed.outcome === 'failed') return passed
    }
  }

  const ifNoneMatch = tagsOf(headers['if-none-match'])
  if (ifNoneMatch !== null) {
    const matched = ifNoneMatch === '*' ? exists : etag !== null && ifNoneMatch.some((tag) => opaque(tag) === opaque(etag))
    return { outcome: !matched ? 'stale' : retrieval ? 'fresh' : 'failed', precondition: 'If-None-Match' }
  }
  const since = retrieval ? dateOf(headers['if-modified-since']) : null
  if (since === null || lastModified === null) return passed
  return { outcome: lastModified <= since ? 'fresh' : 'stale', precondition: 'If-Modified-Since' }
}

/** An entity tag from any text: kept where it is one, quoted where it can be, hashed otherwise. */
export function entityTag (text: string, weak: boolean): string {
  const formed = /^(W\/)?("[\x21\x23-\x7e]*")$/.exec(text)
  if (formed !== null) return weak || formed[1] !== undefined ? `W/${formed[2]}` : formed[2] as string
  const tag = /^[\x21\x23-\x7e]{1,128}$/.test(text) ? text : createHash('sha256').update(text).digest('base64url')
  return `${weak ? 'W/' : ''}"${tag}"`
}

/** What a response that was already made says of its representation; what is malformed identifies nothing. */
export function validatorsOf (etag: unknown, lastModified: unknown): Validators {
  return {
    etag: typeof etag === 'string' && /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/.test(etag) ? etag : null,
    lastModified: lastModified instanceof Date ? wholeSeconds(lastModified.getTime()) : typeof lastModified === 'string' ? parseHttpDate(lastModified) : null
  }
}

/** HTTP dates know no fractions. */
export function wholeSeconds (milliseconds: number): number {
  return Math.floor(milliseconds / 1000) * 1000
}

// A list may be split at no comma, for entity tags may contain some. A tag that is ignored makes no copy fresh.
function tagsOf (header: string | undefined): '*' | string[] | null {
  if (header === undefined || header.trim() === '') return null
  return header.trim() === '*' ? '*' : header.slice(0, MAX_TAGS_LENGTH).match(ENTITY_TAG) ?? []
}

function dateOf (header: string | undefined): number | null {
  return header === undefined ? null : parseHttpDate(header)
}

function opaque (tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}
