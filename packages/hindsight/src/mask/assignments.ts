import { isAuthorizationCode, isHarmless, MASKED } from './names.js'

/** A quote, also escaped in JSON or HTML. */
export const QUOTE = String.raw`\\{0,7}["']|&quot;`
const CHAR = String.raw`[\w\u00c0-\u1fff\u3040-\ud7ff.[\]%-]`
// `API key: …` is a name of two words. After the name may be its quote, and a bracket: `config["pass"] = …`.
const NAME = new RegExp(String.raw`(?<!${CHAR})((?:[a-z]{2,20} (?=(?:key|code|number)s?\b))?${CHAR}{1,128})` +
  String.raw`(${QUOTE})?[\])]?([ \t]{0,40}(?:={1,3}>?|:(?!:)=?|：)[ \t]{0,40})`, 'gi')
// With the prefixes of literals in Python and SQL: `u'…'`, `N'…'`.
const OPENING = new RegExp(`[ubrfn]{0,2}(${QUOTE})`, 'iy')
// Within a value, a sign of punctuation is followed by a letter or digit, but not by the next name.
const BARE = new RegExp(String.raw`(?:\\\S|[^\s,;&"'${'`'}\])}<\\]|[,;&"'${'`'}\])}<](?=\w)` +
  String.raw`(?!quot;|[lg]t;|(?:amp;)?${CHAR}{1,128}(?:${QUOTE})?\s?[=:]))+`, 'iy')
/** `[`, `Session {`, `Set(2) {` */
const BRACKET = /(?:[A-Z]\w{0,60}(?:\(\d{1,9}\))? )?[([{]/y
const LINE = /[^\r\n]*/y
const REST_IN_QUOTES = new Map([['"', /[^\r\n"]*/y], ["'", /[^\r\n']*/y]])
const CODE = /(\\{0,7}["']?)([\w~./+%-]+={0,2})/y
/** The end of a value: the end of the line, punctuation, or the next name. */
const VALUE_END = /[ \t]{0,40}(?:$|[\r\n,;&)}\]"'#]|<\/|[\w.[\]-]{1,128}[=:])/y
/** Characters that are read for the end of a value in quotes or brackets. */
const MAX_QUOTED = 10_000
/** A longer value without quotes is always masked: to search it for names, too, would take quadratic time. */
const MAX_BARE = 1_000
const HEADER = /^(?:(?:set-)?cookie|(?:proxy-)?auth(?:orization|entication-info))$/i
const FILE = /\.[cm]?[jt]sx?$/i
/** `?`, `$1`, `:name`, `@p1`, `%s` */
const PLACEHOLDER = /^(?:\?|[$:]\d{1,3}|@p\d{1,3}|:[a-z_]{1,64}|%s|%\(\w{1,64}\)s)$/i

export interface TextMask {
  hides: (name: string) => boolean
  header: (name: string, value: string) => string
}

interface Assignment {
  text: string
  /** Where the name begins. */
  index: number
  name: string
  quote: string
  sign: string
  /** Where the value begins. */
  start: number
}

interface Found { shown: string, end: number }

/** Masks values after secret names: `password=…`, `"password": "…"`, `'password' => '…'`, `Cookie: …`. */
export function maskAssignments (mask: TextMask, text: string): string {
  let shown = ''
  let done = 0
  NAME.lastIndex = 0
  for (let match = NAME.exec(text); match !== null; match = NAME.exec(text)) {
    const { index, 0: all, 1: name = '', 2: quote = '', 3: sign = '' } = match
    const start = index + all.length
    const found = maskedValue(mask, { text, index, name, quote, sign, start })
    // What follows a name without a secret is read again, for the names in it: `Error: token=…`.
    NAME.lastIndex = found?.end ?? index + name.length
    if (found === undefined) continue
    shown += text.slice(done, start) + found.shown
    done = found.end
  }
  return shown + text.slice(done)
}

function maskedValue (mask: TextMask, given: Assignment): Found | undefined {
  const { text, index, name, quote, sign, start } = given
  let oneWord = name
  if (name.includes(' ')) oneWord = name.toLowerCase().replace(' ', '')
  if (!mask.hides(oneWord)) return maskedCode(given)
  if (HEADER.test(name) && quote === '' && sign.includes(':')) return maskedHeader(mask, given)
  const opening = matchAt(OPENING, text, start)
  if (opening !== null) return maskedQuotation(text, start, opening)
  // In text without quotes it is an arrow function: `(token) => token.id`.
  if (sign.includes('=>')) return undefined
  const bracket = matchAt(BRACKET, text, start)
  if (bracket !== null) return maskedBrackets(text, start, start + bracket[0].length)
  const value = matchAt(BARE, text, start)?.[0]
  if (value === undefined) return undefined
  const end = start + value.length
  if (value.length > MAX_BARE) return { shown: MASKED, end }
  if (isHarmless(name, value) || PLACEHOLDER.test(value)) return undefined
  if (sign.includes(':') && !sign.includes('=')) {
    // `session.ts:12:3`, `/etc/passwd:12` and `//token.example:3000` are places.
    const isPlace = sign === ':' && /^\d/.test(value) && (FILE.test(name) || text.charAt(index - 1) === '/')
    // `Invalid token: expected a number` is prose, `password: hunter` is not.
    if (isPlace || (!/\d/.test(value) && matchAt(VALUE_END, text, end) === null)) return undefined
  }
  return { shown: MASKED, end }
}

function maskedCode ({ text, name, start }: Assignment): Found | undefined {
  if (!/^code$/i.test(name)) return undefined
  const [all = '', opening = '', code = ''] = matchAt(CODE, text, start) ?? []
  if (isAuthorizationCode(name, code)) return { shown: opening + MASKED, end: start + all.length }
}

/** The value of a header of credentials: the rest of its line, or of its quotation. */
function maskedHeader (mask: TextMask, { text, index, name, start }: Assignment): Found | undefined {
  const rest = matchAt(REST_IN_QUOTES.get(text.charAt(index - 1)) ?? LINE, text, start)?.[0] ?? ''
  if (rest !== '') return { shown: mask.header(name, rest), end: start + rest.length }
}

function maskedQuotation (text: string, start: number, [opening, quote = '']: RegExpExecArray): Found {
  const from = start + opening.length
  const end = closingQuote(text.slice(0, from + MAX_QUOTED), from, quote)
  if (end !== -1) return { shown: opening + MASKED + quote, end: end + quote.length }
  // Texts are cut off: without a closing quote the value ends with its line.
  return { shown: opening + MASKED, end: lineEnd(text, from) }
}

/** The index of the closing quote, -1 if there is none. A doubled quote and one after a backslash close nothing. */
function closingQuote (text: string, from: number, quote: string): number {
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, at + quote.length)) {
    let backslashes = 0
    while (backslashes < 16 && at - backslashes > from && text[at - backslashes - 1] === '\\') backslashes++
    if (quote.startsWith('\\') ? backslashes > 0 : backslashes % 2 === 1) continue
    if (quote.length > 1 || text[at + 1] !== quote) return at
    at++
  }
  return -1
}

/** A list or an object, up to the bracket that closes it, else the rest of the text that is read. */
function maskedBrackets (text: string, start: number, from: number): Found | undefined {
  const last = Math.min(text.length, from + MAX_QUOTED)
  let depth = 1
  let end = from
  while (depth > 0 && end < last) {
    const char = text.charAt(end++)
    if (/[([{]/.test(char)) depth++
    else if (/[)\]}]/.test(char)) depth--
  }
  // `[]`, `{}`
  if (text.slice(from, end - 1).trim() !== '') return { shown: MASKED, end }
}

function lineEnd (text: string, start: number): number {
  return start + (matchAt(LINE, text, start)?.[0].length ?? 0)
}

function matchAt (expression: RegExp, text: string, index: number): RegExpExecArray | null {
  expression.lastIndex = index
  return expression.exec(text)
}
