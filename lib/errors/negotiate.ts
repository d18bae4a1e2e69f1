import { namesHtml, preferredType } from '../http/accept.js'

/** A form in which an error can be told. */
export interface Representation {
  type: 'html' | 'json' | 'text' | 'markdown'
  contentType: string
}

const HTML: Representation = { type: 'html', contentType: 'text/html; charset=utf-8' }

// In the order of our own preference, which decides between forms that the client likes equally.
const OFFERS: Array<[mediaType: string, offer: Representation]> = [
  ['text/html', HTML],
  ['application/problem+json', { type: 'json', contentType: 'application/problem+json' }],
  ['application/json', { type: 'json', contentType: 'application/json' }],
  ['text/plain', { type: 'text', contentType: 'text/plain; charset=utf-8' }],
  ['text/markdown', { type: 'markdown', contentType: 'text/markdown; charset=utf-8' }]
]

const BY_MEDIA_TYPE = new Map(OFFERS)
const MEDIA_TYPES = [...BY_MEDIA_TYPE.keys()]

/** Chooses the form of an error by the `Accept` of its request; where that settles nothing, it is the page. */
export function representation (accept: string | undefined): Representation {
  return BY_MEDIA_TYPE.get(preferredType(accept ?? '', MEDIA_TYPES) ?? '') ?? HTML
}

/** Whether a client names HTML and prefers it to the other forms of an error: one that accepts anything does not. */
export function prefersHtml (accept: string | undefined): boolean {
  return accept !== undefined && namesHtml(accept) && representation(accept).type === 'html'
}
