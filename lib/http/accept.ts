import Negotiator from 'negotiator'

// The cost of negotiation is the product of entries and offers.
const MAX_LENGTH = 2_048
const MAX_ENTRIES = 50

/**
 * The preferred of some media types by an `Accept` header (RFC 9110, section 12.5.1); undefined where none is accepted.
 */
export function preferredType<T extends string> (accept: string, offers: readonly T[]): T | undefined {
  return new Negotiator({ headers: { accept: firstEntries(accept) } }).mediaType(offers as T[]) as T | undefined
}

/** Whether an `Accept` header names HTML. */
export function namesHtml (accept: string): boolean {
  return /\btext\/html\b/i.test(firstEntries(accept))
}

function firstEntries (accept: string): string {
  const entries = accept.slice(0, MAX_LENGTH).split(',')
  // The last entry may have been truncated.
  if (accept.length > MAX_LENGTH) entries.pop()
  // The negotiator compares parameters, and clients may name the charset that is always sent.
  return entries.slice(0, MAX_ENTRIES).join(',').replace(/;\s*charset="?utf-8"?/gi, '')
}
