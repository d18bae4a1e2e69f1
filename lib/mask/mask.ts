import { maskHeader, maskMessage, maskUrl } from './http.js'
import { MASKED, nameTest, type MaskPattern } from './names.js'
import { maskText } from './text.js'
import { maskValue } from './value.js'

export { MASKED }

/** Replaces secrets in everything that is shown or stored. */
export interface Mask {
  /** One header's value, in the form that still shows its kind: scheme, cookie names, attributes. */
  header (name: string, value: string): string
  headers (record: Record<string, unknown>): Record<string, string | string[]>
  /** Values of query and fragment by their names, and the password of the user information. */
  url (url: string): string
  /** Any value as plain JSON data, bounded in depth and size, its fields masked by their names. */
  value (value: unknown): unknown
  /** Prose that may hold credentials: connection strings, bearer tokens, `password=…`. */
  text (text: string): string
  /** An HTTP/1.1 message as it was received, however malformed. */
  message (raw: string): string
  /** Masks nothing but the values that were given to `hiding`. */
  redact (text: string): string
  /** Whether the value under a name is a secret. */
  hides (name: string): boolean
  /** The mask that also masks, in every text, the values that these path parameters have under secret names. */
  hiding (params: unknown): Mask
}

/** A mask as its own modules use it. */
export interface MaskParts extends Mask {
  /** Text that was found within encodings; `depth`: their number, which is bounded. */
  nestedText (text: string, depth: number): string
}

/** Makes a mask with the built-in names and the patterns of the option `mask`. */
export function createMask (patterns: readonly MaskPattern[] = []): Mask {
  return maskOf(nameTest(patterns), [])
}

function maskOf (hides: (name: string) => boolean, secrets: readonly RegExp[]): Mask {
  const mask: MaskParts = {
    hides,
    redact: (text) => secrets.reduce((shown, secret) => shown.replace(secret, MASKED), text),
    text: (text) => maskText(mask, text, 0),
    nestedText: (text, depth) => maskText(mask, text, depth),
    url: (url) => maskUrl(mask, url),
    value: (value) => maskValue(mask, value),
    message: (raw) => maskMessage(mask, raw),
    header: (name, value) => maskHeader(mask, name, value),
    headers (record) {
      const given = Object.entries(record).filter(([, value]) => value !== undefined && value !== null)
      return Object.fromEntries(given.map(([name, value]) => [name, Array.isArray(value)
        ? value.map((item) => maskHeader(mask, name, String(item)))
        : maskHeader(mask, name, String(value))]))
    },
    hiding (params) {
      const hidden = Object.entries(params ?? {})
        .filter(([name, value]) => hides(name) && typeof value === 'string' && value !== '')
        .map(([, value]) => inAnyEncoding(value as string))
      return hidden.length === 0 ? mask : maskOf(hides, [...secrets, ...hidden])
    }
  }
  return mask
}

/** A shorter value is masked only where it is a segment of a path: it may be an ordinary word. */
const MIN_DISTINCT = 6

/** Matches a value in every text, percent-encoded in any way. */
function inAnyEncoding (secret: string): RegExp {
  const source = [...secret].map((char) => {
    const octets = [...Buffer.from(char)].map((octet) => '%' + octet.toString(16).padStart(2, '0')
      .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`))
    return `(?:${char.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}|${octets.join('')})`
  }).join('')
  return new RegExp(secret.length >= MIN_DISTINCT ? source : `(?<=(?:^|[^/])/)${source}(?=$|[/?#\\s"'<>)&])`, 'g')
}
