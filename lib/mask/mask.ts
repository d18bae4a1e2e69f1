import { maskAssignments } from './assignments.js'
import { maskCommands, maskRows } from './commands.js'
import { maskHeader, maskMessage, maskParameters, maskUrl, MAX_DEPTH } from './http.js'
import { maskMarkup } from './markup.js'
import { MASKED, nameTest, percentDecoded, remembered, type MaskPattern } from './names.js'
import { maskShapes } from './shapes.js'
import { maskValue } from './value.js'

export { MASKED }

declare module '../lifecycle/services.js' {
  interface Services {
    readonly mask: Mask
  }
}

export interface MaskOptions {
  /** Names of headers and fields whose values are masked, beside the built-in ones. */
  mask?: Array<string | RegExp>
}

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
  // No secret is kept in memory: only texts that are shown as they are.
  const isUnchanged = (shown: string, given: string): boolean => shown === given
  const mask: MaskParts = {
    hides,
    redact: (text) => secrets.reduce((shown, secret) => shown.replace(secret, MASKED), text),
    text: remembered((text) => maskText(mask, text, 0), isUnchanged),
    nestedText: (text, depth) => maskText(mask, text, depth),
    url: remembered((url) => maskUrl(mask, url), isUnchanged),
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

/** Characters of a text that are masked together: for much more, an expression exceeds the stack. */
const MAX_TOGETHER = 1_000_000
/** A word that is too short for a secret that is recognized by its shape. */
const SHORT_WORD = /^\w{0,12}$/
// Codes of terminals for colors and styles, also escaped: `util.inspect` and loggers write them around values.
const COLOR = /(?:\x1b|\\{1,7}(?:u00|x)1b)\[[\d;]{0,20}m/gi
const PARAMETER = /(?<=[?&])[^=&\s#?"<>]{1,256}=[^&\s#"<>]*/g
// The body of a form: at least two pairs, whose values are percent-encoded.
const FORM = /(?<![^\s"'`(])[\w.[\]%~-]{1,128}=[\w.~%+*-]*(?:&[\w.[\]%~-]{1,128}=[\w.~%+*@/=-]*)+/g
// A percent-encoded text that holds a quote, a colon, an equals sign or a brace.
const ENCODED = /(?<![\w%.~+-])(?=[\w.~+-]{0,128}%(?:2[27]|3[AD]|7B))(?:[\w.~!*'+-]|%[0-9A-F]{2})+/gi

/** A line of a stack. These are masked one by one: stacks have most of them in common. */
const FRAME = /^( {4}at .{1,400}:\d+\)?)$/m

/** Masks prose that may hold credentials; `depth`: the number of encodings that the text was in. */
function maskText (mask: MaskParts, text: string, depth: number): string {
  if (SHORT_WORD.test(text)) return mask.redact(text)
  const parts = text.includes('\n') ? text.split(FRAME) : []
  if (parts.length > 1) return parts.map(mask.text).join('')
  return piecesOf(text).map((piece) => {
    const plain = piece.replace(COLOR, '')
    const shown = maskPiece(mask, plain, depth)
    // Without secrets a text keeps its colors.
    return shown === plain ? piece : shown
  }).join('')
}

function maskPiece (mask: MaskParts, text: string, depth: number): string {
  let shown = maskShapes(text)
  if (shown.includes('=')) {
    shown = shown.replace(PARAMETER, (all) => maskParameters(mask, all, depth))
      .replace(FORM, (all) => maskParameters(mask, all, depth))
  }
  if (shown.includes('%') && depth < MAX_DEPTH) {
    shown = shown.replace(ENCODED, (all) => {
      const plain = percentDecoded(all)
      const inner = plain === null ? null : mask.nestedText(plain, depth + 1)
      return inner === null || inner === plain ? all : encodeURIComponent(inner)
    })
  }
  shown = maskRows(mask.hides, maskCommands(shown))
  return mask.redact(maskAssignments(mask, maskMarkup(mask.hides, shown)))
}

/** A text in pieces that end with a line where possible. */
function piecesOf (text: string): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length;) {
    const line = text.lastIndexOf('\n', start + MAX_TOGETHER - 1) + 1
    const end = line > start && start + MAX_TOGETHER < text.length ? line : start + MAX_TOGETHER
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
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
