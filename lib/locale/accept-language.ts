import { match } from '@formatjs/intl-localematcher'
import Negotiator from 'negotiator'

const NONE = 'und'
const MAX_LENGTH = 500
const MAX_LANGUAGES = 10
const MAX_REMEMBERED = 500

/**
 * Makes the function that finds the locale which suits an `Accept-Language` best (RFC 9110, section 12.5.4):
 * languages in the order of their weights, regions and scripts by the distances of the CLDR, those with `q=0` left out.
 * It answers null where the client wants none of the locales. Answers are remembered, for browsers send few different headers.
 */
export function languageMatcher (locales: readonly string[], preferred: string): (header: string) => string | null {
  const remembered = new Map<string, string | null>()
  return (header) => {
    const known = remembered.get(header)
    if (known !== undefined) return known
    const found = header.length > MAX_LENGTH ? null : bestOf(header, locales, preferred)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    if (header.length <= MAX_LENGTH) remembered.set(header, found)
    return found
  }
}

function bestOf (header: string, locales: readonly string[], preferred: string): string | null {
  const wanted = languagesOf(header).slice(0, MAX_LANGUAGES)
  // A star behind all others lets through what the client has not refused.
  const left = languagesOf(`${header}, *;q=0.001`, locales)
  for (const language of wanted) {
    if (language === '*') return left.includes(preferred) ? preferred : left[0] ?? null
    if (!isTag(language)) continue
    // One language at a time: an exact match of the second must not win over a near one of the first.
    const found = match([language], left, NONE)
    if (found !== NONE) return found
  }
  return null
}

function languagesOf (header: string, available?: readonly string[]): string[] {
  try {
    return new Negotiator({ headers: { 'accept-language': header } }).languages(available as string[] | undefined)
  } catch {
    return []
  }
}

/** Whether a text is a language tag (RFC 5646). */
export function isTag (text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}
