import Negotiator from 'negotiator'

const MAX_LENGTH = 2_048
const MAX_ENTRIES = 50

/**
 * The best of some media types by the first 2 kB and 50 entries of an `Accept` (RFC 9110, section 12.5.1); undefined
 * where none is accepted. The parser takes the product of entries and offers.
 */
export function preferredType<T extends string> (accept: string, offers: readonly T[]): T | undefined {
  return new Negotiator({ headers: { accept: firstEntries(accept) } }).mediaType(offers as T[]) as T | undefined
}

/** Whether an `Accept` names HTML, within the same bounds. */
export function namesHtml (accept: string): boolean {
  return /\btext\/html\b/i.test(firstEntries(accept))
}

function firstEntries (accept: string): string {
  const entries = accept.slice(0, MAX_LENGTH).split(',')
  // An entry that is cut could mean something else.
  if (accept.length > MAX_LENGTH) entries.pop()
  // A client may name the charset that it receives anyway; the negotiator compares parameters too.
  return entries.slice(0, MAX_ENTRIES).join(',').replace(/;\s*charset="?utf-8"?/gi, '')
}
