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
}

// These say where a profile is, not how to get in.
const NEVER_MASKED = new Set(['x-debug-token', 'x-debug-token-link'])
const URL_HEADERS = new Set([
  'referer', 'location', 'content-location', 'origin', 'x-original-url', 'x-rewrite-url', 'x-forwarded-uri', 'x-debug-token-link'
])
const MAX_DEPTH = 12
const MAX_ENTRIES = 5_000

// Every expression starts at a literal or behind a look-behind, so that hostile text costs linear time.
const USERINFO = /:\/\/([^\s/?#:@"<>]{0,256}):(?:[^\s/?#"<>]*|(?!\d*[/?#])[^\s@"<>]{0,256})@/g
const BEARER = /\b(Bearer)\s+(?!(?:realm|scope|error|charset)=|(?:tokens?|scheme|auth\w*)(?![\w.~+/=-]))[\w.~+/=-]+/gi
const BASIC = /\b(Basic)\s+([A-Za-z0-9+/]{4,}={0,2})/gi
const JWT = /(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*/g
const PARAMETER = /(?<=[?&])([^=&\s#?"<>]{1,256})=([^&\s#"<>]*)/g
const ASSIGNMENT = /(?<![\w.[\]-])(["']?)([\w.[\]-]{1,128})\1(=|\s*:\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?!["'{[/])[^\s,;&"'}\])]+)/g

/** Makes the mask that a debug surface puts on all it shows. */
export function createMask (patterns: readonly MaskPattern[] = DEFAULT_MASK_PATTERNS): Mask {
  const exact = new Set(patterns.filter(pattern => typeof pattern === 'string').map(name => name.toLowerCase()))
  const expressions = patterns.filter(pattern => pattern instanceof RegExp)
    // A sticky or global expression would remember where it stopped.
    .map(({ source, flags }) => new RegExp(source, flags.replace(/[gy]/g, '')))

  function hides (name: string): boolean {
    const lower = name.toLowerCase()
    return !NEVER_MASKED.has(lower) && (exact.has(lower) || expressions.some(expression => expression.test(name)))
  }

  function parameters (text: string): string {
    return text.split('&').map(pair => {
      const equals = pair.indexOf('=')
      if (equals < 0) return pair
      const name = pair.slice(0, equals)
      if (decoded(name).split(/[[\]]/).some(hides)) return `${name}=${MASKED}`
      const inner = decoded(pair.slice(equals + 1))
      const shown = maskText(inner)
      return shown === inner ? pair : `${name}=${encodeURIComponent(shown)}`
    }).join('&')
  }

  function maskUrl (url: string): string {
    const [, path = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#[^]*)?$/.exec(url) ?? []
    return path.replace(USERINFO, `://$1:${MASKED}@`) +
      query.slice(0, 1) + parameters(query.slice(1)) +
      fragment.slice(0, 1) + parameters(fragment.slice(1))
  }

  function maskText (text: string): string {
    if (exact.size === 0 && expressions.length === 0) return text
    return text
      .replace(USERINFO, `://$1:${MASKED}@`)
      .replace(BEARER, `$1 ${MASKED}`)
      .replace(BASIC, (all, scheme, base64) => isBasicCredential(base64) ? `${scheme} ${MASKED}` : all)
      .replace(JWT, MASKED)
      .replace(PARAMETER, all => parameters(all))
      .replace(ASSIGNMENT, (all: string, quote: string, name: string, sign: string, value: string) => {
        const quoted = /^["']/.test(value)
        // `Invalid token: expected a number` is prose, `password: hunter2` is not.
        if (!hides(name) || (quote === '' && !quoted && sign !== '=' && !/\d/.test(value))) return all
        return `${quote}${name}${quote}${sign}${quoted ? value[0] + MASKED + value[0] : MASKED}`
      })
  }

  function header (name: string, value: string): string {
    const lower = name.toLowerCase()
    if (URL_HEADERS.has(lower)) return maskUrl(value)
    if (!hides(lower)) return maskText(value)
    if (lower === 'cookie') return value.split(';').map(pair => cookie(pair.trim())).join('; ')
    if (lower === 'set-cookie') return value.replace(/^[^;]*/, pair => cookie(pair))
    if (!lower.endsWith('authorization')) return MASKED
    const scheme = /^\s*([A-Za-z][\w-]*)\s+\S/.exec(value)?.[1]
    return scheme === undefined ? MASKED : `${scheme} ${MASKED}`
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
    text: maskText
  }
}

function cookie (pair: string): string {
  const equals = pair.indexOf('=')
  return equals < 0 ? (pair === '' ? '' : MASKED) : `${pair.slice(0, equals).trim()}=${MASKED}`
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

function isBasicCredential (base64: string): boolean {
  return /^[^\p{Cc}]*:[^\p{Cc}]*$/u.test(Buffer.from(base64, 'base64').toString('utf8'))
}
