import Negotiator from 'negotiator'

/** Characters of the header: the cost of negotiation is the product of its entries and the offers. */
const MAX_LENGTH = 2_048

/** The offer that an `Accept` header prefers (RFC 9110, section 12.5.1); undefined if it accepts none. */
export function preferredType<T extends string> (accept: string, offers: readonly T[]): T | undefined {
  // The negotiator compares parameters, and clients may name the charset that is always sent.
  const shortened = accept.slice(0, MAX_LENGTH).replace(/;\s*charset="?utf-8"?/gi, '')
  return new Negotiator({ headers: { accept: shortened } }).mediaType(offers as T[]) as T | undefined
}

/** Whether an `Accept` header names HTML. */
export function namesHtml (accept: string): boolean {
  return /\btext\/html\b/i.test(accept.slice(0, MAX_LENGTH))
}
