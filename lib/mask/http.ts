import { percentEncoded } from '../http/header-text.js'
import type { MaskParts } from './mask.js'
import { isAuthorizationCode, MASKED, percentDecoded } from './names.js'
import { maskShapes } from './shapes.js'

/** How many encodings may be within each other. */
export const MAX_DEPTH = 4
const URL_HEADERS = new Set([
  'referer', 'location', 'content-location', 'origin', 'x-original-url', 'x-rewrite-url', 'x-forwarded-uri',
  'x-debug-token-link'
])
/** Headers that a debug surface percent-encodes itself. */
const ENCODED_HEADERS = new Set(['x-debug-exception', 'x-debug-exception-file'])

/** Masks a header's value in the form that still shows its kind: scheme, cookie names, attributes. */
export function maskHeader (mask: MaskParts, name: string, value: string): string {
  const lower = name.toLowerCase()
  if (URL_HEADERS.has(lower)) return mask.url(value)
  // Its nonces are new in each response: masking it takes a tenth of the time of a profile.
  if (lower === 'content-security-policy') return value
  if (!mask.hides(lower)) {
    const plain = ENCODED_HEADERS.has(lower) ? percentDecoded(value) : null
    const shown = mask.text(plain ?? value)
    return plain === null ? shown : shown === plain ? value : percentEncoded(shown)
  }
  if (lower === 'cookie') return maskCookies(value)
  if (lower === 'set-cookie') return value.replace(/^[^;]*/, maskCookie)
  const scheme = lower.endsWith('authorization') ? /^\s*([A-Za-z][\w-]*)\s+\S/.exec(value)?.[1] : undefined
  return scheme === undefined ? MASKED : `${scheme} ${MASKED}`
}

/** Masks the pairs of a `Cookie` header; their names stay. */
export function maskCookies (value: string): string {
  return value.split(';').map((pair) => maskCookie(pair.trim())).join('; ')
}

function maskCookie (pair: string): string {
  const equals = pair.indexOf('=')
  return equals < 0 ? (pair === '' ? '' : MASKED) : `${pair.slice(0, equals).trim()}=${MASKED}`
}

/** Masks an HTTP/1.1 message as it was received, however malformed. */
export function maskMessage (mask: MaskParts, raw: string): string {
  const end = raw.search(/\r?\n\r?\n/)
  const head = end === -1 ? raw : raw.slice(0, end)
  let last = ''
  const lines = head.split(/(\r?\n)/).map((line, i) => {
    if (i % 2 === 1 || line === '') return line
    if (i === 0) return mask.text(line.replace(/(?<=^\S+ ).*?(?=(?: HTTP\/\S*)?$)/, (target) => mask.url(target)))
    // RFC 9112, section 5.2: a line that begins with white space continues the line before it.
    if (/^[ \t]/.test(line) && last !== '') return mask.hides(last) ? ` ${MASKED}` : mask.text(line)
    const [, word = '', sign = '', value = ''] = /^([^:]*)(:[ \t]*)([^]*)$/.exec(line) ?? []
    last = plainName(word)
    if (sign !== '' && (mask.hides(last) || URL_HEADERS.has(last.toLowerCase()))) {
      return word + sign + mask.header(last, value)
    }
    const [start = '', first = ''] = /^([^\s:=]+)[\s:=]+/.exec(line) ?? []
    if (first === '' || !mask.hides(plainName(first))) return mask.text(line)
    last = plainName(first)
    return start + MASKED
  })
  return lines.join('') + (end === -1 ? '' : mask.text(raw.slice(end)))
}

/** A header's name without what the parser may have refused in it. */
function plainName (name: string): string {
  return name.replace(/[^\w.-]/g, '')
}

/** A parameter of a path segment: `;jsessionid=…`. */
const MATRIX = /(?<=;)([^=;/]{1,128})=[^;/]*/g
/** Parameters that are sent together with an authorization code (RFC 6749, section 4.1). */
const OAUTH = /(?:^|&)(?:state|grant_type|redirect_uri|client_id|session_state|iss)=/

/** Masks the values of query and fragment by their names, and the user information. */
export function maskUrl (mask: MaskParts, url: string): string {
  const [, path = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#[^]*)?$/.exec(url) ?? []
  const shown = maskShapes(path)
    .replace(MATRIX, (all, name: string) => mask.hides(name) ? `${name}=${MASKED}` : all)
  const [shownQuery, shownFragment] = [query, fragment]
    .map((part) => part.slice(0, 1) + maskParameters(mask, part.slice(1), 0))
  return mask.redact(`${shown}${shownQuery}${shownFragment}`)
}

/** Masks the `name=value` pairs of a query, a fragment or a form; `depth`: the number of encodings around it. */
export function maskParameters (mask: MaskParts, text: string, depth: number): string {
  const isOAuth = OAUTH.test(text)
  return text.split('&').map((pair) => {
    const equals = pair.indexOf('=')
    if (equals < 0) return pair
    const name = pair.slice(0, equals)
    if (depth > MAX_DEPTH || mask.hides(formDecoded(name))) return `${name}=${MASKED}`
    const value = formDecoded(pair.slice(equals + 1))
    if (name === 'code' && (isOAuth || isAuthorizationCode(name, value))) return `code=${MASKED}`
    const shown = mask.nestedText(value, depth + 1)
    return shown === value ? pair : `${name}=${encodeURIComponent(shown)}`
  }).join('&')
}

function formDecoded (text: string): string {
  return percentDecoded(text.replaceAll('+', ' ')) ?? text
}
