import { cachedFunction, cachedByObject } from '../call.js'
import { inAnyEncoding, maskerOf } from './known-secrets.js'
import { isAuthorizationCode, isHarmless, MASKED, nameTest, type MaskPattern } from './names.js'
import { maskSource } from './source.js'
import { cutMasked, maskProse } from './text.js'
import { maskUrl } from './url.js'
import { maskValue } from './value.js'

export { MASKED }

export class Mask {
  readonly hides: (name: string) => boolean
  readonly #maskers: ReadonlyArray<(text: string) => string>
  readonly #withoutParams: Mask
  #last: { texts: readonly string[], mask: Mask } | undefined
  // By the lines of an excerpt: the page of a repeated failure takes 2.2 ms of CPU with it, and 3.6 ms without.
  readonly #source = cachedByObject((lines: readonly string[]): readonly string[] => maskSource(this.hides, lines))

  constructor (hides: Mask['hides'], maskers: ReadonlyArray<(text: string) => string> = [], withoutParams?: Mask) {
    this.hides = hides
    this.#maskers = maskers
    this.#withoutParams = withoutParams ?? this
  }

  /** Whether a text, which may be a path or code, has a secret name among its words. */
  readonly mentions = (text: string): boolean =>
    text.slice(0, MAX_CODE).split(/[^\p{L}\p{N}_-]+/u).some(this.hides)

  /** Masks only the path parameters that were given to `withParams`, and the texts that were given to `withTexts`. */
  readonly redact = (text: string): string => this.#maskers.reduce((shown, masker) => masker(shown), text)

  /** Prose that may hold credentials: connection strings, bearer tokens, `password=…`. */
  readonly text = cachedFunction((text: string) => maskText(this, text), isUnchanged)

  /** Values of query and fragment by their names, and the password of the user information. */
  readonly url = cachedFunction((url: string) => this.redact(maskUrl(this, url)), isUnchanged)

  /** One header's value, in the form that still shows its kind: scheme, cookie names, attributes. */
  readonly header = (name: string, value: string): string => {
    const lower = name.toLowerCase()
    // Tokens of profiles are new in each response, and no secrets.
    if (lower === 'x-debug-token' && TOKEN.test(value)) return value
    if (lower === 'x-debug-token-link') {
      const [, folder = value, token = ''] = TOKEN_LINK.exec(value) ?? []
      return this.url(folder) + token
    }
    if (URL_HEADERS.has(lower)) return this.url(value)
    if (!this.hides(lower)) {
      // Nonces are new in each response. Without them a policy is masked only once.
      const nonces = value.match(NONCE) ?? []
      return nonces.reduce<string>((shown, nonce) => shown.replace("'nonce-'", () => nonce),
        this.text(value.replace(NONCE, "'nonce-'")))
    }
    if (lower === 'cookie') return value.split(';').map((pair) => maskCookie(pair.trim())).join('; ')
    if (lower === 'set-cookie') return value.replace(/^[^;]*/, maskCookie)
    const [, scheme] = /^\s*([A-Za-z][\w-]*)\s+\S/.exec(value) ?? []
    if (scheme === undefined || !lower.endsWith('authorization')) return MASKED
    return `${scheme} ${MASKED}`
  }

  /** Masks a text, and truncates it then to `max` characters: a secret is not recognized by its beginning. */
  cut (text: string, max: number): string {
    const { shown, rest } = cutMasked(this.text, text, max)
    return rest === 0 ? shown : `${shown}… (${rest.toLocaleString('en')} more characters)`
  }

  headers (record: Record<string, unknown>): Record<string, string | string[]> {
    const given = Object.entries(record).filter(([, value]) => value !== undefined && value !== null)
    return Object.fromEntries(given.map(([name, value]) => [name, Array.isArray(value)
      ? value.map((item) => this.header(name, String(item)))
      : this.header(name, String(value))]))
  }

  /** Any value as plain JSON data, bounded in depth and size, its fields masked by their names. */
  value (value: unknown, maxText?: number): unknown {
    return maskValue(this, value, maxText)
  }

  /** Lines of source code: the literals that are assigned to secret names, and credentials with a known shape. */
  source (lines: readonly string[]): readonly string[] {
    const shown = this.#withoutParams.#source(lines)
    const redacted = shown.map(this.redact)
    if (redacted.every((line, i) => line === shown[i])) return shown
    return redacted
  }

  /** An HTTP/1.1 message as it was received, however malformed. */
  message (raw: string): string {
    const [head = ''] = raw.split(/\r?\n\r?\n/, 1)
    let last = ''
    const lines = head.split(/(\r?\n)/).map((line, i) => {
      if (i % 2 === 1 || line === '') return line
      if (i === 0) return this.text(line.replace(/(?<=^\S+ ).*?(?=(?: HTTP\/\S*)?$)/, this.url))
      // RFC 9112, section 5.2: a line that begins with white space continues the line before it.
      if (/^[ \t]/.test(line) && last !== '') return this.hides(last) ? ` ${MASKED}` : this.text(line)
      const [, name = '', sign = '', value = ''] = /^([^\s:=]+)([\s:=]+)([^]*)$/.exec(line) ?? []
      // The parser may have refused a character of the name.
      last = name.replace(/[^\w.-]/g, '')
      const isNamed = this.hides(last) || URL_HEADERS.has(last.toLowerCase())
      if (!isNamed || value === '') return this.text(line)
      return name + sign + this.header(last, value)
    })
    return lines.join('') + this.text(raw.slice(head.length))
  }

  /** A mask that also masks the values of path parameters with secret names, in every text. */
  withParams (params: unknown): Mask {
    const hidden = Object.entries(params ?? {})
      .map(([name, value]) => [name, typeof value === 'number' ? String(value) : value] as const)
      .filter(([name, value]) => typeof value === 'string' && value !== '' &&
        (this.hides(name) ? !isHarmless(name, value) : isAuthorizationCode(name, value)))
      .map(([, value]) => value as string)
      .sort((a, b) => b.length - a.length)
      .map(inAnyEncoding)
    if (hidden.length === 0) return this
    const masker = (text: string): string => hidden.reduce((shown, secret) => shown.replace(secret, MASKED), text)
    return new Mask(this.hides, [...this.#maskers, masker], this.#withoutParams)
  }

  /** A mask that also masks secrets whose texts are known, in every text. */
  withTexts (texts: readonly string[]): Mask {
    if (texts.length === 0) return this
    if (this.#last?.texts !== texts) {
      this.#last = { texts, mask: new Mask(this.hides, [maskerOf(texts), ...this.#maskers], this.#withoutParams) }
    }
    return this.#last.mask
  }
}

/** Makes a mask with the built-in names and the patterns of the option `mask`. */
export function createMask (patterns: readonly MaskPattern[] = []): Mask {
  return new Mask(nameTest(patterns))
}

// No secret is kept in memory: only texts that are shown as they are.
function isUnchanged (shown: string, given: string): boolean {
  return shown === given && given.length <= MAX_KEPT
}

const MAX_KEPT = 500

/** Characters of code, in which secret names are searched. */
const MAX_CODE = 10_000
/** Characters of a text; a longer one is truncated, as an expression would exceed the stack. */
const MAX_LENGTH = 1_000_000
/** A word that is too short for a secret that is recognized by its shape. */
const SHORT_WORD = /^\w{0,12}$/
/** A line of a stack. These are masked one by one: stacks have most of them in common. */
const FRAME = /^( {4}at .{1,400}:\d+\)?)$/m

function maskText (mask: Mask, given: string): string {
  const text = mask.redact(given)
  if (SHORT_WORD.test(text)) return text
  if (text.length > MAX_LENGTH) {
    const rest = (text.length - MAX_LENGTH).toLocaleString('en')
    return `${maskText(mask, text.slice(0, MAX_LENGTH))}… (${rest} more characters)`
  }
  if (text.includes('\n')) {
    const parts = text.split(FRAME)
    if (parts.length > 1) return parts.map(mask.text).join('')
  }
  return mask.redact(maskProse(mask, text))
}

const NONCE = /'nonce-[^'\s]{1,200}'/g
const TOKEN = /^[0-9a-f]{6}$/
const TOKEN_LINK = /^([^?#]*\/)([0-9a-f]{6})$/
const URL_HEADERS = new Set([
  'referer', 'location', 'content-location', 'origin', 'x-original-url', 'x-rewrite-url', 'x-forwarded-uri'
])

function maskCookie (pair: string): string {
  return pair.replace(/^([^=]*=)?[^]+/, `$1${MASKED}`)
}
