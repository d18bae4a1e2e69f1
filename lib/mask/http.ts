import type { Mask } from './mask.js'
import { MASKED } from './names.js'

const URL_HEADERS = new Set([
  'referer', 'location', 'content-location', 'origin', 'x-original-url', 'x-rewrite-url', 'x-forwarded-uri',
  'x-debug-token-link'
])

/** Masks a header's value in the form that still shows its kind: scheme, cookie names, attributes. */
export function maskHeader (mask: Mask, name: string, value: string): string {
  const lower = name.toLowerCase()
  if (URL_HEADERS.has(lower)) return mask.url(value)
  if (!mask.hides(lower)) return mask.text(value)
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
export function maskMessage (mask: Mask, raw: string): string {
  const end = raw.search(/\r?\n\r?\n/)
  const head = end === -1 ? raw : raw.slice(0, end)
  let last = ''
  const lines = head.split(/(\r?\n)/).map((line, i) => {
    if (i % 2 === 1 || line === '') return line
    if (i === 0) return mask.text(line.replace(/(?<=^\S+ ).*?(?=(?: HTTP\/\S*)?$)/, (target) => mask.url(target)))
    // RFC 9112, section 5.2: a line that begins with white space continues the line before it.
    if (/^[ \t]/.test(line) && last !== '') return mask.hides(last) ? ` ${MASKED}` : mask.text(line)
    const [, name = '', sign = '', value = ''] = /^([^\s:=]+)([\s:=]+)([^]*)$/.exec(line) ?? []
    // The parser may have refused a character of the name.
    last = name.replace(/[^\w.-]/g, '')
    const isNamed = mask.hides(last) || URL_HEADERS.has(last.toLowerCase())
    return isNamed && value !== '' ? name + sign + mask.header(last, value) : mask.text(line)
  })
  return lines.join('') + (end === -1 ? '' : mask.text(raw.slice(end)))
}
