import { isAuthorizationCode, isHarmless, MASKED } from './names.js'

const QUOTE = String.raw`\\{0,7}["']|&quot;`
const CHAR = String.raw`[\w\u00c0-\u1fff\u3040-\ud7ff.[\]%-]`
// A name, the quote and the brackets after it, and what connects it with its value: a sign, or words (`password is`).
const NAME = new RegExp(`(?<!${CHAR})(?<name>${CHAR}{1,128})(?<quote>${QUOTE})?(?<brackets>[\\])]{0,2})(?<sign>` +
  String.raw`(?:\s+(?:provided|given|received|for\s[^\s:=]{1,64}))?\s*` +
  String.raw`(?:[=!<>:+?|]{0,2}=>?|[<-]>|:\s?string\s?=(?=\s?["'])|[:：](?!:)|,(?=\s*(?:${QUOTE})))\s*|` +
  // SQL: `like 'x'`, `in ('x', 'y')`
  String.raw`\s+(?:not\s+)?(?:i?like\s+(?=[ubrfn]{0,2}(?:${QUOTE}))|in\s*(?=\(\s*(?:${QUOTE})))|` +
  String.raw`\s*→\s*|\s+(?:(?:for|of)\s\S{1,64}\s)?` +
  String.raw`(?:(?:is|was|lautet|ist|est|es|é|è|är|er)(?:\s(?:now|jetzt))?\s?:?|` +
  String.raw`(?:with|has)\s+value:?|to\s?:)\s+|[ \t]+)`, 'gi')
// With the prefixes of literals in Python and SQL: `u'…'`, `N'…'`.
const OPENING = new RegExp(`[ubrfn]{0,2}(${QUOTE})`, 'iy')
// Within a value, a sign of punctuation is followed by a letter or digit, but not by the next name.
const BARE = new RegExp(String.raw`(?:\\\S|[^\s,;&"'${'`'}\])}<\\]|[,;&"'${'`'}\])}<](?=\w)` +
  String.raw`(?!quot;|[lg]t;|(?:amp;)?${CHAR}{1,128}(?:${QUOTE})?\s?[=:]))+`, 'iy')
// `{…}`, `Some(…)`, `Set(2) { … }`
const BRACKETED = /(?:[A-Z][A-Za-z.]{0,60}(?:\(\d{0,9}\))? |[A-Za-z.]{1,60})?[([{]/y
/** Characters that are read for the end of a value in brackets or quotes. */
const MAX_BRACKETED = 2_000
const MAX_QUOTED = 10_000
// A longer value without quotes is always masked: to search it for names, too, would take quadratic time.
const MAX_BARE = 1_000
const CODE = /(\\{0,7}["']?)([\w~./+%-]+={0,2})/y
const HEADER = /^(?:(?:set-)?cookie|(?:proxy-)?authorization)$/i
const LINE = /[^\r\n]*/y
// The end of a value: the end of the line, punctuation, or the next name.
const VALUE_END = /[ \t]*(?:$|[\r\n,;&)}\]"'#]|<\/|[\w.[\]-]{1,128}[=:])/y
// A state, or the beginning of a sentence.
const PLAIN_WORD = new RegExp('^(?:started|ended|created|destroyed|closed|opened|enabled|disabled|active|valid|' +
  'verified|accepted|rejected|refreshed|rotated|revoked|renewed|loaded|saved|found|updated|changed|deleted|removed|' +
  'optional|unset|present|absent|missing|required|invalid|expired|unknown|wrong|empty|not|must|should|yes|no|' +
  'string|number|boolean|object|any|command|incorrect|failed|denied|too|has|cannot)(?![\\w-])', 'i')
// Not a word: letters and digits mixed, or the digits of a code.
const OPAQUE = /^(?:\d{4,8}|\d{3}-\d{2}-\d{4}|(?=[^\d]{0,200}\d)(?=[^a-z]{0,200}[a-z])[^\s()/]{6,})$/i
const FILE = /\.(?:[cm]?[jt]sx?|json|html|eta|hbs|ejs|vue|node)$/i
// `?`, `$1`, `:name`, `@p1`, `%s`, `$PASSWORD`, `{{name}}`
const PLACEHOLDER = new RegExp(String.raw`^(?:\$\{?[A-Z_]+\}?|%[sdoOj]|%\(\w{1,64}\)s|\{\{.*|\?|` +
  String.raw`(?:[$:]\d{1,3}|@p\d{1,3}|:[A-Za-z_]{1,64})(?:::\w+)?)$`)
// Words that are secret names with the word before them: `API key`, `session id`.
const SECOND_WORD = /^(?:keys?|codes?|number|string|phrase|id)$/i

interface Assignment {
  text: string
  index: number
  start: number
  name: string
  quote: string
  sign: string
  /** Only after `=` and similar signs any word is a value. */
  kind: 'equals' | 'colon' | 'comma' | 'words'
}

interface Found { shown: string, end: number }

export interface TextMask {
  hides: (name: string) => boolean
  text: (text: string) => string
  header: (name: string, value: string) => string
}

/** Bounds the cost of a text: after so many characters were read for closing brackets, a value ends with its line. */
interface Budget { left: number }

/** Masks values after secret names: `password=…`, `'password' => '…'`, `--password …`, `the password is …`. */
export function maskAssignments (mask: TextMask, text: string): string {
  const budget = { left: MAX_BRACKETED + 4 * text.length }
  let [shown, done] = ['', 0]
  NAME.lastIndex = 0
  for (let match = NAME.exec(text); match !== null; match = NAME.exec(text)) {
    const { index, 0: all, groups: { name = '', quote = '', brackets = '', sign = '' } = {} } = match
    const start = index + all.length
    let found: Found | null = null
    if (!isHidden(mask, text, name, index)) found = maskedCode(text, name, start)
    // Not at the end of a sentence, and not for the parameters of an arrow function.
    else if (!name.endsWith('.') && !(brackets.includes(')') && sign.includes('=>'))) {
      const given = { text, index, start, name, quote, sign, kind: kindOf(sign, name) }
      found = maskedHeader(mask, given) ?? maskedValue(given, budget)
    }
    // What follows a name without a secret is read again, for the names in it: `Error: token=…`.
    NAME.lastIndex = found?.end ?? index + name.length
    if (found === null) continue
    shown += text.slice(done, start) + found.shown
    done = found.end
  }
  return shown + text.slice(done)
}

function isHidden ({ hides }: TextMask, text: string, name: string, index: number): boolean {
  if (hides(name)) return true
  const before = SECOND_WORD.test(name) && /([A-Za-z-]{2,20}) $/.exec(text.slice(Math.max(0, index - 24), index))
  return before ? hides((`${before[1]}${name}`).toLowerCase()) : false
}

function kindOf (sign: string, name: string): Assignment['kind'] {
  if (/[=>]|^\s+(?:not\s+)?(?:i?like|in)\b/i.test(sign)) return 'equals'
  if (sign.includes(':')) return 'colon'
  if (sign.includes(',')) return 'comma'
  return name.startsWith('-') ? 'equals' : 'words'
}

function maskedCode (text: string, name: string, start: number): Found | null {
  if (!/^code$/i.test(name)) return null
  const [all = '', opening = '', code = ''] = matchAt(CODE, text, start) ?? []
  return isAuthorizationCode(name, code) ? { shown: opening + MASKED, end: start + all.length } : null
}

/** The value of a header of credentials: the rest of its line, or of its quotation. */
function maskedHeader (mask: TextMask, { text, index, start, name, quote, kind }: Assignment): Found | null {
  if (quote !== '' || kind !== 'colon' || !HEADER.test(name) || /["'{[]/.test(text.charAt(start))) return null
  const [opening = ''] = /["']/.exec(text.charAt(index - 1)) ?? []
  const [rest = ''] = matchAt(new RegExp(`[^\\r\\n${opening}]*`, 'y'), text, start) ?? []
  return rest === '' ? null : { shown: mask.header(name, rest), end: start + rest.length }
}

function maskedValue (given: Assignment, budget: Budget): Found | null {
  const { text, start, kind } = given
  const opening = matchAt(OPENING, text, start)
  if (opening !== null) return quoted(given, opening[1] as string, start + opening[0].length)
  if (kind === 'comma') return null
  const bracket = kind === 'words' ? null : matchAt(BRACKETED, text, start)
  return bracket === null ? bare(given) : bracketed(given, start + bracket[0].length - 1, budget)
}

function quoted (given: Assignment, opening: string, from: number): Found | null {
  const { text, start, name, quote, kind } = given
  // In prose, a list of quoted words contains names only.
  if (kind === 'comma' && !(/["']$/.test(quote) && /^x-|cookie|authorization/i.test(name))) return null
  let end = closingQuote(text.slice(0, from + MAX_QUOTED), from, opening)
  // If a quote is never closed, the value ends with its line: texts are cut off.
  const isClosed = end !== -1
  if (!isClosed) end = from + (matchAt(LINE, text, from)?.[0].length ?? 0)
  const value = text.slice(from, end)
  const after = end + (isClosed ? opening.length : 0)
  if (kind === 'words' && !isOpaque(name, value)) {
    const isPassword = /pass|pwd/i.test(name) && /^[^\s{}()]+$/.test(value) && !PLAIN_WORD.test(value)
    if (!isPassword) return null
  }
  return { shown: text.slice(start, from) + MASKED + (isClosed ? opening : ''), end: after }
}

/** The index of the closing quote, -1 if there is none. A doubled quote and one after a backslash close nothing. */
function closingQuote (text: string, from: number, quote: string): number {
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, at + quote.length)) {
    const backslashes = /\\*$/.exec(text.slice(Math.max(from, at - 16), at))?.[0].length ?? 0
    if (quote.startsWith('\\') ? backslashes > 0 : backslashes % 2 === 1) continue
    if (!/^["']$/.test(quote) || text[at + 1] !== quote) return at
    at++
  }
  return -1
}

function bracketed (
  { text, start, kind, quote }: Assignment, opening: number, budget: Budget
): Found | null {
  const end = budget.left > 0 ? closingBracket(text, opening) : -1
  if (end === -1) {
    budget.left -= MAX_BRACKETED
    if (kind !== 'equals' && quote === '') return null
    const line = matchAt(LINE, text, start)?.[0] ?? ''
    return { shown: MASKED, end: start + line.length }
  }
  // `[]`, `z.string()`
  const isEmpty = /^.\s*.$/.test(text.slice(opening, end))
  if (isEmpty && !/[\w!#$%&*-]/.test(text.charAt(end))) return null
  return { shown: MASKED, end: end + (kind === 'equals' ? matchAt(BARE, text, end)?.[0].length ?? 0 : 0) }
}

/** The index after the bracket that closes the one at an index, -1 if there is none. */
function closingBracket (text: string, opening: number): number {
  let depth = 0
  let quote = ''
  for (let at = opening; at < opening + MAX_BRACKETED && at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '\\') at++
    else if (quote !== '') quote = char === quote ? '' : quote
    else if (char === '"' || (char === "'" && !/\w/.test(text.charAt(at - 1)))) quote = char
    else if (char === '[' || char === '(' || char === '{') depth++
    else if (char === ']' || char === ')' || char === '}') depth--
    if (depth === 0) return at + 1
  }
  return -1
}

function bare (given: Assignment): Found | null {
  const { text, index, start, name, sign, kind } = given
  const value = matchAt(BARE, text, start)?.[0]
  if (value === undefined) return null
  const found = { shown: MASKED, end: start + value.length }
  if (value.length > MAX_BARE) return found
  if (isHarmless(name, value) || PLACEHOLDER.test(value)) return null
  if (kind === 'words') return isOpaque(name, value) ? found : null
  if (kind === 'equals') return value.startsWith('-') && name.startsWith('-') && !sign.includes('=') ? null : found
  if (value.startsWith('/')) return null
  // `session.ts:12:3`, `/etc/passwd:12` and `//token.example:3000` are places.
  if (sign === ':' && /^\d{1,6}(?![\w.-])/.test(value) && text.charAt(index - 1) === '/') return null
  if (sign === ':' && /^\d/.test(value) && (FILE.test(name) || text.slice(index - 2, index) === '//')) return null
  if (/\d/.test(value)) return found
  // `Invalid token: expected a number` is prose, `password: hunter` is not.
  if (PLAIN_WORD.test(value) || !/[^\W_]|[^\x00-\x7f]/.test(value)) return null
  return matchAt(VALUE_END, text, found.end) === null ? null : found
}

// `Token "3fa94c" was not found.` is about a profile.
function isOpaque (name: string, value: string): boolean {
  return OPAQUE.test(value) && !(/^[0-9a-f]{6}$/.test(value) && (/[a-f]/.test(value) || /^token$/i.test(name)))
}

function matchAt (expression: RegExp, text: string, index: number): RegExpExecArray | null {
  expression.lastIndex = index
  return expression.exec(text)
}
