import Negotiator from 'negotiator'
import { attempt } from '../attempt.js'

/** The text of a header value: Node.js decodes it as ISO 8859-1, clients send UTF-8 (RFC 9110, section 5.5). */
export function headerText (value: string): string {
  return /^[\x00-\x7f]*$/.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8')
}

/** All values of a header that the client sent, joined by a comma and a space (RFC 9110, section 5.3). */
export function joinedHeader (rawHeaders: readonly string[], name: string): string {
  const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)
  return headerText(values.filter((value) => value !== '').join(', '))
}

/** Percent-encodes text for a header value: only unreserved characters stay (RFC 3986, section 2.3). */
export function percentEncoded (text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Percent-decodes; null where that is not possible. */
export function percentDecoded (text: string): string | null {
  return attempt(() => decodeURIComponent(text)) ?? null
}

const OF_CLIENT = new RegExp('^(?:user-agent|accept|accept-(?:language|encoding)|host|referer|origin|dnt|pragma|te|' +
  'priority|cache-control|connection|upgrade-insecure-requests|via|forwarded|x-real-ip|(?:sec|x-forwarded)-.*)$', 'i')

/** Whether a header depends on the client and its network, and not on what was requested. */
export function isClientHeader (name: string): boolean {
  return OF_CLIENT.test(name)
}

/** Characters of the header: the cost of negotiation is the product of its entries and the offers. */
const MAX_LENGTH = 2_048

/** The offer that an `Accept` header prefers (RFC 9110, section 12.5.1); undefined if it accepts none. */
export function preferredType<T extends string> (accept: string, offers: readonly T[]): T | undefined {
  // The negotiator compares parameters, and clients may name the charset that is always sent.
  const shortened = accept.slice(0, MAX_LENGTH).replace(/;\s*charset="?utf-8"?/gi, '')
  return new Negotiator({ headers: { accept: shortened } }).mediaType(offers as T[]) as T | undefined
}

export function namesHtml (accept: string): boolean {
  return /\btext\/html\b/i.test(accept.slice(0, MAX_LENGTH))
}

/** A format of an error response. */
export interface Representation {
  type: 'html' | 'json' | 'text' | 'markdown'
  contentType: string
}

const HTML: Representation = { type: 'html', contentType: 'text/html; charset=utf-8' }

// Listed by preference, for clients that accept several formats equally.
const OFFERS = new Map<string, Representation>([
  ['text/html', HTML],
  ['application/problem+json', { type: 'json', contentType: 'application/problem+json' }],
  ['application/json', { type: 'json', contentType: 'application/json' }],
  ['text/plain', { type: 'text', contentType: 'text/plain; charset=utf-8' }],
  ['text/markdown', { type: 'markdown', contentType: 'text/markdown; charset=utf-8' }]
])
const MEDIA_TYPES = [...OFFERS.keys()]

/** The format of an error response by the `Accept` header; HTML where it accepts none of the formats. */
export function representation (accept: string | undefined): Representation {
  if (accept === undefined) return HTML
  return OFFERS.get(preferredType(accept, MEDIA_TYPES) ?? '') ?? HTML
}

/** Whether `Accept` names HTML and prefers it to the other formats; false for a client that accepts anything. */
export function prefersHtml (accept: string | undefined): boolean {
  return accept !== undefined && namesHtml(accept) && representation(accept).type === 'html'
}
