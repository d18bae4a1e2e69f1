import { percentEncoded } from '../http/header-text.js'
import { MASKED, percentDecoded, type MaskParts } from './parts.js'

const URL_HEADERS = new Set([
  'referer', 'location', 'content-location', 'origin', 'x-original-url', 'x-rewrite-url', 'x-forwarded-uri', 'x-debug-token-link'
])
// What a debug surface itself percent-encodes.
const ENCODED_HEADERS = new Set(['x-debug-exception', 'x-debug-exception-file'])

/** Whether the value of a header is a URL. */
export function isUrlHeader (name: string): boolean {
  return URL_HEADERS.has(name.toLowerCase())
}

/** Makes what masks a header's value, in the form that still tells its kind: scheme, cookie names, attributes. */
export function headerMask (parts: MaskParts): MaskParts['header'] {
  function encoded (value: string): string {
    const plain = percentDecoded(value)
    const shown = parts.text(plain ?? value)
    return plain === null ? shown : shown === plain ? value : percentEncoded(shown)
  }

  return (name, value) => {
    const lower = name.toLowerCase()
    if (URL_HEADERS.has(lower)) return parts.url(value)
    if (!parts.hides(lower)) return ENCODED_HEADERS.has(lower) ? encoded(value) : parts.text(value)
    if (lower === 'cookie') return value.split(';').map(pair => maskedCookie(pair.trim())).join('; ')
    if (lower === 'set-cookie') return value.replace(/^[^;]*/, pair => maskedCookie(pair))
    if (!lower.endsWith('authorization')) return MASKED
    const scheme = /^\s*([A-Za-z][\w-]*)\s+\S/.exec(value)?.[1]
    return scheme === undefined ? MASKED : `${scheme} ${MASKED}`
  }
}

/** One pair of a cookie header: its name stays. */
export function maskedCookie (pair: string): string {
  const equals = pair.indexOf('=')
  return equals < 0 ? (pair === '' ? '' : MASKED) : `${pair.slice(0, equals).trim()}=${MASKED}`
}
