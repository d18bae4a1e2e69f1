import { percentEncoded } from './header-text.js'

/** What stands where a secret stood. */
export const MASKED = '******'

/** A name that hides its value: a string is the whole name in any case, an expression may match a part of it. */
export type MaskPattern = string | RegExp

/** The names whose values never reach a page or a store. */
export const DEFAULT_MASK_PATTERNS: readonly MaskPattern[] = [
  'authorization', 'proxy-authorization', 'cookie', 'cookies', 'set-cookie', 'x-api-key', 'x-auth-token', 'x-csrf-token',
  'auth', 'pass', 'sig', 'sid', '_hash', 'otp', 'jwt',
  /pass(?:wor[dt]|wd|phrase|code|key)|[-_.]pass$|Pass$|_PASS_|pwd/i,
  /secret|token|credential|authorization|session|[cx]srf|signature|jwt/i,
  /(?:api|access|private|encryption|signing|master)[-_. ]?key/i
]

/** Replaces secrets in whatever is about to be shown or stored. */
export interface Mask {
  /** One header's value, in the form that still tells its kind: scheme, cookie names, attributes. */
  header (name: string, value: string): string
  headers (record: Record<string, unknown>): Record<string, string | string[]>
  /** Values of query and fragment by their names, and the password of the user information. */
  url (url: string): string
  /** Any value as plain JSON data, bounded in depth and size, its fields masked by their names. */
  value (value: unknown): unknown
  /** Prose that may hold credentials: connection strings, bearer tokens, `password=…`. */
  text (text: string): string
  /** An HTTP/1.1 message as it came over the wire, however malformed. */
  message (raw: string): string
  /** The mask that also hides, wherever they stand, the values that these path parameters have under secret names. */
  hiding (params: unknown): Mask
}

// These say where a profile is, not how to get in.
const NEVER_MASKED = new Set(['x-debug-token', 'x-debug-token-link'])
const URL_HEADERS = new Set([
  'referer', 'location', 'content-location', 'origin', 'x-original-url', 'x-rewrite-url', 'x-forwarded-uri', 'x-debug-token-link'
])
// What a debug surface itself percent-encodes.
const ENCODED_HEADERS = new Set(['x-debug-exception', 'x-debug-exception-file'])
const HEADER_IN_PROSE = /^(?:(?:set-)?cookie|(?:proxy-)?authorization|x-[\w-]+)$/i
const MAX_DEPTH = 12
/** How many parameters may stand in each other's values. */
const MAX_NESTED = 4
/** A shorter secret is hidden only where it is a segment of a path: it may be a word like any other. */
const LEAST_DISTINCT = 6
const MAX_ENTRIES = 5_000

// Every expression starts at a literal or behind a look-behind, so that hostile text costs linear time.
const USERINFO = /:\/\/([^\s/?#:@"<>]{0,256}):(?:[^\s/?#"<>]*|(?!\d*[/?#])[^\s@"<>]{0,256})@/g
const BEARER = /\b(Bearer)\s+(?!(?:realm|scope|error|charset)=|(?:tokens?|scheme|auth\w*)(?![\w.~+/=-]))[\w.~+/=-]+/gi
const BASIC = /\b(Basic)\s+([A-Za-z0-9+/]{4,}={0,2})/gi
const JWT = /(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*/g
const PARAMETER = /(?<=[?&])([^=&\s#?"<>]{1,256})=([^&\s#"<>]*)/g
const NAME = /(?<![\w.[\]-])(\\?["']?)([\w.[\]-]{1,128})\1(\s*[=:]\s*)/g
// Where a quote is never closed, the value ends with its line: texts are cut off.
const VALUE = /(\\?["'])|[^\s,;&"'}\])]+/y
const QUOTED: Readonly<Record<string, RegExp>> = {
  '"': /(?:[^"\\]|\\[^])*"|[^\r\n]*/y,
  "'": /(?:[^'\\]|\\[^])*'|[^\r\n]*/y,
  '\\"': /(?:[^"\\]|\\[^"])*\\"|[^\r\n]*/y,
  "\\'": /(?:[^'\\]|\\[^'])*\\'|[^\r\n]*/y
}
const LINE_START = /(?:^|[\r\n>]|:\s|["'`])[ \t]*$/
const REST: Readonly<Record<string, RegExp>> = { '': /[^\r\n]*/y, '"': /[^\r\n"]*/y, "'": /[^\r\n']*/y, '`': /[^\r\n`]*/y }
const COOKIES = /[^\s=;,"']+=[^\s;,"']*(?:;[ \t]*[^\s=;,"']+=[^\s;,"']*)*/y
// Behind a value that stands alone: the end, a closing sign, or the next name.
const ALONE = /[ \t]*(?:$|[\r\n,;&)}\]"']|[\w.[\]-]{1,128}[=:])/y
const PLAIN_WORD = /^(?:missing|required|invalid|expired|unknown|wrong|empty|none|null|undefined|true|false)\b/i
const FILE = /\.(?:[cm]?[jt]sx?|json|html|eta|hbs|ejs|vue|node)$/i

/** Makes the mask that a debug surface puts on all it shows. */
export function createMask (patterns: readonly MaskPattern[] = DEFAULT_MASK_PATTERNS): Mask {
  return maskOf(patterns, [])
}

function maskOf (patterns: readonly MaskPattern[], secrets: readonly RegExp[]): Mask {
  const exact = new Set(patterns.filter(pattern => typeof pattern === 'string').map(name => name.toLowerCase()))
  const expressions = patterns.filter(pattern => pattern instanceof RegExp)
    // A sticky or global expression would remember where it stopped.
    .map(({ source, flags }) => new RegExp(source, flags.replace(/[gy]/g, '')))

  function hides (name: string): boolean {
    const lower = name.toLowerCase()
    return !NEVER_MASKED.has(lower) && (exact.has(lower) || expressions.some(expression => expression.test(name)))
  }

  function redact (text: string): string {
    return secrets.reduce((shown, secret) => shown.replace(secret, MASKED), text)
  }

  function parameters (text: string, nested = 0): string {
    return text.split('&').map(pair => {
      const equals = pair.indexOf('=')
      if (equals < 0) return pair
      const name = pair.slice(0, equals)
      if (decoded(name).split(/[[\]]/).some(hides)) return `${name}=${MASKED}`
      if (nested > MAX_NESTED) return `${name}=${MASKED}`
      const inner = decoded(pair.slice(equals + 1))
      const shown = maskText(inner, nested + 1)
      return shown === inner ? pair : `${name}=${encodeURIComponent(shown)}`
    }).join('&')
  }

  function maskUrl (url: string): string {
    const [, path = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#[^]*)?$/.exec(url) ?? []
    return redact(path.replace(USERINFO, `://$1:${MASKED}@`) +
      query.slice(0, 1) + parameters(query.slice(1)) +
      fragment.slice(0, 1) + parameters(fragment.slice(1)))
  }

  function maskText (text: string, nested = 0): string {
    if (exact.size === 0 && expressions.length === 0) return text
    return redact(assignments(text
      .replace(USERINFO, `://$1:${MASKED}@`)
      .replace(BEARER, `$1 ${MASKED}`)
      .replace(BASIC, (all, scheme, base64) => isBasicCredential(base64) ? `${scheme} ${MASKED}` : all)
      .replace(JWT, MASKED)
      .replace(PARAMETER, all => parameters(all, nested))))
  }

  // What follows a name that hides nothing is read again, for the names in it: `Error: token=…`.
  function assignments (text: string): string {
    let shown = ''
    let done = 0
    NAME.lastIndex = 0
    for (let match = NAME.exec(text); match !== null; match = NAME.exec(text)) {
      const [, quote = '', name = '', sign = ''] = match
      const start = NAME.lastIndex
      if (!hides(name)) continue
      const masked = maskedValue(text, start, { quote, name, sign, index: match.index })
      if (masked === null) continue
      shown += text.slice(done, start) + masked.value
      NAME.lastIndex = done = masked.end
    }
    return shown + text.slice(done)
  }

  function maskedValue (text: string, start: number, { quote, name, sign, index }: Assignment): { value: string, end: number } | null {
    if (quote === '' && sign.includes(':') && HEADER_IN_PROSE.test(name) && !/["'{[]/.test(text.charAt(start)) && !/[\r\n]/.test(sign)) {
      const found = headerInProse(text, start, name, index)
      if (found !== null) return found
    }
    const found = matchAt(VALUE, text, start)
    if (found === null) return null
    const [value, opening] = found
    if (opening !== undefined) {
      const inner = matchAt(QUOTED[opening] as RegExp, text, start + opening.length)?.[0] ?? ''
      const closing = inner.endsWith(opening) ? opening : ''
      return { value: opening + MASKED + closing, end: start + opening.length + inner.length }
    }
    const end = start + value.length
    const masked = { value: MASKED, end }
    if (sign === '=') return /^[{[]/.test(value) ? null : masked
    if (/^[{[/]/.test(value)) return null
    // `session.ts:12:3` and `//token.example:3000` are places.
    if (sign === ':' && /^\d/.test(value) && (FILE.test(name) || text.slice(index - 2, index) === '//')) return null
    if (quote !== '' || /\d/.test(value)) return masked
    // `Invalid token: expected a number` is prose, `password: hunter` is not.
    return /\w/.test(value) && !PLAIN_WORD.test(value) && matchAt(ALONE, text, end) !== null ? masked : null
  }

  // At the beginning of a line, of a quotation or behind another name, a header has all of its line.
  function headerInProse (text: string, start: number, name: string, index: number): { value: string, end: number } | null {
    const before = text.slice(Math.max(0, index - 8), index)
    if (LINE_START.test(before)) {
      const [rest = ''] = matchAt(REST[/["'`]$/.exec(before)?.[0] ?? ''] as RegExp, text, start) ?? []
      return rest === '' ? null : { value: header(name, rest), end: start + rest.length }
    }
    const [cookies] = /cookie$/i.test(name) ? matchAt(COOKIES, text, start) ?? [] : []
    return cookies === undefined ? null : { value: cookies.split(';').map(pair => cookie(pair.trim())).join('; '), end: start + cookies.length }
  }

  function maskMessage (raw: string): string {
    const end = raw.search(/\r?\n\r?\n/)
    const [section, rest] = end === -1 ? [raw, ''] : [raw.slice(0, end), raw.slice(end)]
    let last = ''
    return section.split(/(\r?\n)/).map((line, i) => {
      if (i % 2 === 1 || line === '') return line
      if (i === 0) return maskText(line.replace(/^(\S+ )(.*?)( HTTP\/\S*)?$/, (_, method: string, url: string, version = '') => method + maskUrl(url) + version))
      // RFC 9112, section 5.2: a line that begins with white space goes on with the one before.
      if (/^[ \t]/.test(line) && last !== '') return hides(last) ? ` ${MASKED}` : maskText(line)
      const [, word = '', gap = '', value = ''] = /^([^:]*)(:[ \t]*)([^]*)$/.exec(line) ?? []
      last = plainName(word)
      if (gap !== '' && (hides(last) || URL_HEADERS.has(last.toLowerCase()))) return word + gap + header(last, value)
      const [, first = '', space = ''] = /^([^\s:=]+)([\s:=]+)/.exec(line) ?? []
      if (first === '' || !hides(plainName(first))) return maskText(line)
      last = plainName(first)
      return first + space + MASKED
    }).join('') + maskText(rest)
  }

  function header (name: string, value: string): string {
    const lower = name.toLowerCase()
    if (URL_HEADERS.has(lower)) return maskUrl(value)
    if (!hides(lower)) return ENCODED_HEADERS.has(lower) ? maskEncoded(value) : maskText(value)
    if (lower === 'cookie') return value.split(';').map(pair => cookie(pair.trim())).join('; ')
    if (lower === 'set-cookie') return value.replace(/^[^;]*/, pair => cookie(pair))
    if (!lower.endsWith('authorization')) return MASKED
    const scheme = /^\s*([A-Za-z][\w-]*)\s+\S/.exec(value)?.[1]
    return scheme === undefined ? MASKED : `${scheme} ${MASKED}`
  }

  function maskEncoded (value: string): string {
    const plain = percentDecoded(value)
    const shown = maskText(plain ?? value)
    return plain === null ? shown : shown === plain ? value : percentEncoded(shown)
  }

  function maskValue (root: unknown): unknown {
    const ancestors = new Set<object>()
    let entries = 0

    function visit (value: unknown, hidden: boolean): unknown {
      if (value === null || value === undefined) return null
      if (typeof value === 'object') return visitObject(value, hidden)
      if (hidden) return MASKED
      if (typeof value === 'string') return maskText(value)
      if (typeof value === 'boolean' || Number.isFinite(value)) return value
      return typeof value === 'function' ? `[function ${value.name}]` : String(value)
    }

    function visitObject (value: object, hidden: boolean): unknown {
      if (ancestors.has(value)) return '[circular]'
      if (ancestors.size >= MAX_DEPTH) return '[too deep]'
      if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[binary, ${value.byteLength} bytes]`
      ancestors.add(value)
      try {
        return visitMembers(value, hidden)
      } catch (error) {
        // A getter, a proxy or a toJSON of the application may throw.
        return `[unreadable: ${maskText(error instanceof Error ? error.message : String(error))}]`
      } finally {
        ancestors.delete(value)
      }
    }

    function visitMembers (value: object, hidden: boolean): unknown {
      if ('toJSON' in value && typeof value.toJSON === 'function') return visit(value.toJSON(), hidden)
      if (value instanceof Set || Array.isArray(value)) return bounded([...value]).map(item => visit(item, hidden))
      const all: Array<[string, unknown]> = value instanceof Map
        ? [...value].map(([name, item]) => [String(name), item])
        : Object.entries(value)
      if (value instanceof Error) all.unshift(['name', value.name], ['message', value.message])
      // `{ name: 'password', value: 'x' }` is how forms and header lists are often written.
      const named = all.find(([name, item]) => /^(?:name|key)$/i.test(name) && typeof item === 'string' && hides(item))
      return Object.fromEntries(bounded(all)
        .filter(([, item]) => item !== undefined)
        .map(([name, item]) => [
          maskText(name), visit(item, hidden || hides(name) || (named !== undefined && /^values?$/i.test(name)))
        ]))
    }

    function bounded<T> (items: T[]): T[] {
      const kept = items.slice(0, Math.max(0, MAX_ENTRIES - entries))
      entries += kept.length
      return kept
    }

    return visit(root, false)
  }

  return {
    header,
    headers: record => Object.fromEntries(Object.entries(record)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [
        name, Array.isArray(value) ? value.map(item => header(name, String(item))) : header(name, String(value))
      ])),
    url: maskUrl,
    value: maskValue,
    text: text => maskText(text),
    message: maskMessage,
    hiding (params) {
      const hidden = Object.entries(params ?? {})
        .filter(([name, value]) => hides(name) && typeof value === 'string' && value !== '')
        .map(([, value]) => inAnyEncoding(value as string))
      return hidden.length === 0 ? this : maskOf(patterns, [...secrets, ...hidden])
    }
  }
}

interface Assignment {
  quote: string
  name: string
  sign: string
  index: number
}

function matchAt (expression: RegExp, text: string, index: number): RegExpExecArray | null {
  expression.lastIndex = index
  return expression.exec(text)
}

/** A header's name without what the parser may have refused in it. */
function plainName (name: string): string {
  return name.replace(/[^\w.-]/g, '')
}

function inAnyEncoding (secret: string): RegExp {
  const source = [...secret].map(char => {
    const octets = [...Buffer.from(char)].map(octet => `%${octet.toString(16).padStart(2, '0').replace(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`)}`)
    return `(?:${char.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}|${octets.join('')})`
  }).join('')
  return new RegExp(secret.length >= LEAST_DISTINCT ? source : `(?<=(?:^|[^/])/)${source}(?=$|[/?#\\s"'<>)&])`, 'g')
}

function cookie (pair: string): string {
  const equals = pair.indexOf('=')
  return equals < 0 ? (pair === '' ? '' : MASKED) : `${pair.slice(0, equals).trim()}=${MASKED}`
}

function decoded (text: string): string {
  return percentDecoded(text.replaceAll('+', ' ')) ?? text
}

function percentDecoded (text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function isBasicCredential (base64: string): boolean {
  return /^[^\p{Cc}]*:[^\p{Cc}]*$/u.test(Buffer.from(base64, 'base64').toString('utf8'))
}
