import { headerMask } from './header.js'
import { inAnyEncoding } from './hidden.js'
import { messageMask } from './message.js'
import { DEFAULT_MASK_PATTERNS, namesThatHide, type MaskPattern } from './names.js'
import { MASKED, type MaskParts } from './parts.js'
import { remembered, rememberedHeader, rememberedProse } from './remembered.js'
import { textMask } from './text.js'
import { urlMask } from './url.js'
import { valueMask } from './value.js'

declare module '../lifecycle/services.js' {
  interface Services {
    readonly mask: Mask
  }
}

export interface MaskOptions {
  /** Names of headers and fields whose values are masked, beside the built-in ones. */
  mask?: Array<string | RegExp>
}

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
  /** Hides nothing but the values that the mask was told of by `hiding`. */
  redact (text: string): string
  /** Whether the value under a name is a secret. */
  hides (name: string): boolean
  /** The mask that also hides, wherever they stand, the values that these path parameters have under secret names. */
  hiding (params: unknown): Mask
}

/** Makes the mask that a debug surface puts on all it shows. */
export function createMask (patterns: readonly MaskPattern[] = DEFAULT_MASK_PATTERNS): Mask {
  return maskOf(namesThatHide(patterns), patterns.length === 0, [])
}

function maskOf (hides: (name: string) => boolean, idle: boolean, secrets: readonly RegExp[]): Mask {
  const redact = secrets.length === 0
    ? (text: string): string => text
    : (text: string): string => secrets.reduce((shown, secret) => shown.replace(secret, MASKED), text)
  const parts = { idle, hides, redact } as MaskParts
  Object.assign(parts, urlMask(parts))
  const text = textMask(parts)
  const rememberedText = rememberedProse(text)
  // What one request hides is forgotten with it.
  parts.text = secrets.length > 0 ? text : (prose, nested) => nested === undefined || nested === 0 ? rememberedText(prose) : text(prose, nested)
  parts.header = headerMask(parts)
  if (secrets.length === 0) {
    parts.header = rememberedHeader(parts.header)
    parts.url = remembered(parts.url)
  }
  const { header } = parts
  return {
    header,
    headers (record) {
      const shown: Record<string, string | string[]> = {}
      for (const name of Object.keys(record)) {
        const value = record[name]
        if (value === undefined || value === null) continue
        const masked = Array.isArray(value) ? value.map(item => header(name, String(item))) : header(name, String(value))
        if (name === '__proto__') Object.defineProperty(shown, name, { value: masked, enumerable: true, configurable: true, writable: true })
        else shown[name] = masked
      }
      return shown
    },
    url: parts.url,
    value: valueMask(parts),
    text: text => parts.text(text),
    message: messageMask(parts),
    redact,
    hides,
    hiding (params) {
      const hidden = Object.entries(params ?? {})
        .filter(([name, value]) => hides(name) && typeof value === 'string' && value !== '')
        .map(([, value]) => inAnyEncoding(value as string))
      return hidden.length === 0 ? this : maskOf(hides, idle, [...secrets, ...hidden])
    }
  }
}
