import { namesHtml, preferredType } from '../http/header-text.js'

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
