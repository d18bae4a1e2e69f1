import { match } from '@formatjs/intl-localematcher'
import Negotiator from 'negotiator'

const NONE = 'und'
const MAX_LENGTH = 500
const MAX_LANGUAGES = 10

/**
 * The locale that suits an `Accept-Language` header best (RFC 9110, section 12.5.4): languages in the order of their
 * weights, regions and scripts by the distances of the CLDR, without those with `q=0`. Null where none is acceptable.
 */
export function bestLocale (header: string, locales: readonly string[], preferred: string): string | null {
  if (header === '' || header.length > MAX_LENGTH) return null
  // The star accepts what the client has not excluded.
  const acceptable = languagesOf(`${header}, *;q=0.001`, locales)
  for (const language of languagesOf(header).slice(0, MAX_LANGUAGES)) {
    if (language === '*') return acceptable.includes(preferred) ? preferred : acceptable[0] ?? null
    if (!isLanguageTag(language)) continue
    // One language at a time: a similar locale of the first precedes an equal one of the second.
    const found = match([language], acceptable, NONE)
    if (found !== NONE) return found
  }
  return null
}

function languagesOf (header: string, available?: readonly string[]): string[] {
  return new Negotiator({ headers: { 'accept-language': header } }).languages(available as string[] | undefined)
}

/** Whether a text is a language tag (RFC 5646). */
export function isLanguageTag (text: unknown): boolean {
  try {
    return typeof text === 'string' && Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}
