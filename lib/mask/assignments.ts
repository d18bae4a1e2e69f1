import { isAuthorizationCode, isHarmless, isPlaceholder, MASKED } from './names.js'

const QUOTE = String.raw`\\{0,7}["']|&quot;`
const CHAR = String.raw`[\w\u00c0-\u1fff\u3040-\ud7ff.[\]%-]`
// A name, the quote and the bracket after it, and what connects it with its value: a sign, or words (`password is`).
const NAME = new RegExp(`(?<!${CHAR})(?<name>(?:api|access|private|secret|session|recovery|card) ` +
  `(?:keys?|codes?|number|phrase|id)|${CHAR}{1,128})` +
  `(?<quote>${QUOTE})?]?(?<sign>` +
  String.raw`(?:\s+(?:provided|given|received|for\s[^\s:=]{1,64}))?\s*` +
  String.raw`(?:[=!<>:+?|]{0,2}=>?|[<-]>|:\s?string\s?=(?=\s?["'])|:(?!:)|(?<=["']),(?=\s*["']))\s*|` +
  String.raw`\s+(?:(?:for|of)\s\S{1,64}\s)?(?:is|was)\s+|[ \t]+)`, 'gi')
// With the prefixes of literals in Python and SQL: `u'…'`, `N'…'`.
const OPENING = new RegExp(`[ubrfn]{0,2}(${QUOTE})`, 'iy')
// Within a value, a sign of punctuation is followed by a letter or digit, but not by the next name.
const BARE = new RegExp(String.raw`(?:\\\S|[^\s,;&"'${'`'}\])}<\\]|[,;&"'${'`'}\])}<](?=\w)` +
  String.raw`(?!quot;|[lg]t;|(?:amp;)?${CHAR}{1,128}(?:${QUOTE})?\s?[=:]))+`, 'iy')
// `{…}`, `Some(…)`, `Set(2) { … }`
const BRACKETED = /(?:[A-Z][A-Za-z.]{0,60}(?:\(\d{0,9}\))? |[A-Za-z.]{1,60})?[([{]/y
const BRACKET_OR_STRING = /[([{]|[\])}]|"(?:[^"\\]|\\[^])*"|(?<!\w)'(?:[^'\\]|\\[^])*'/g
/** Characters that are read for the end of a value in brackets or quotes. */
const MAX_BRACKETED = 2_000
const MAX_QUOTED = 10_000
// A longer value without quotes is masked, so that names within it do not read it again.
const MAX_JUDGED = 1_000
const HEADER = /^(?:(?:set-)?cookie|(?:proxy-)?authorization)$/i
const LINE = /[^\r\n]*/y
// What follows a single value: the end, a closing sign, or the next name.
const ALONE = /[ \t]*(?:$|[\r\n,;&)}\]"'#]|<\/|[\w.[\]-]{1,128}[=:])/y
const PLAIN_WORD = new RegExp('^(?:missing|required|invalid|expired|unknown|wrong|empty|not|must|should|yes|no|' +
  'string|number|boolean|object|any|command|incorrect|failed|denied|too|has|cannot)(?![\\w-])', 'i')
// Not a word: letters and digits mixed, or the digits of a code.
const OPAQUE = /^(?:\d{4,8}|\d{3}-\d{2}-\d{4}|(?=[^\d]{0,200}\d)(?=[^a-z]{0,200}[a-z])[^\s()/]{6,})$/i
const FILE = /\.(?:[cm]?[jt]sx?|json|html|eta|hbs|ejs|vue|node)$/i

/** A name in a text, and what follows it. */
interface Assignment {
  text: string
  /** Where the name and the value start. */
  index: number
  start: number
  name: string
  sign: string
  /** Only after `=` and similar signs any word is a value. */
  kind: 'equals' | 'colon' | 'comma' | 'words'
}

/** Where a secret starts and ends in its text. */
interface Secret { from: number, end: number, shown?: string }

interface AssignmentMask {
  hides: (name: string) => boolean
  header: (name: string, value: string) => string
}

/** Masks values after secret names: `password=…`, `'password' => '…'`, `--password …`, `the password is …`. */
export function maskAssignments (mask: AssignmentMask, text: string): string {
  let [shown, done] = ['', 0]
  NAME.lastIndex = 0
  for (let match = NAME.exec(text); match !== null; match = NAME.exec(text)) {
    const { index, 0: all, groups: { name = '', quote, sign = '' } = {} } = match
    let secret: Secret | null = null
    // A name that ends in a full stop is the end of a sentence.
    if ((mask.hides(name) || /^code$/i.test(name)) && !name.endsWith('.')) {
      const given = { text, index, start: index + all.length, name, sign, kind: kindOf(sign, name) }
      secret = (quote === undefined ? headerOf(mask, given) : null) ?? secretOf(given)
    }
    // What follows a name without a secret is read again, for the names in it: `Error: token=…`.
    NAME.lastIndex = secret?.end ?? index + name.length
    if (secret === null) continue
    shown += text.slice(done, secret.from) + (secret.shown ?? MASKED)
    done = secret.end
  }
  return shown + text.slice(done)
}

function kindOf (sign: string, name: string): Assignment['kind'] {
  if (/[=>]/.test(sign)) return 'equals'
  if (sign.includes(':')) return 'colon'
  if (sign.includes(',')) return 'comma'
  return name.startsWith('-') ? 'equals' : 'words'
}

/** The value of a header of credentials: the rest of its line, with those that continue it, or of its quotation. */
function headerOf (mask: AssignmentMask, { text, index, start, name, kind }: Assignment): Secret | null {
  if (kind !== 'colon' || !HEADER.test(name) || /["'{[]/.test(text.charAt(start))) return null
  const [opening = ''] = /["']/.exec(text.charAt(index - 1)) ?? []
  const value = matchAt(new RegExp(`[^\\r\\n${opening}]+(?:\\r?\\n[ \\t][^\\r\\n]+)*`, 'y'), text, start)
  return value === null ? null : { from: start, end: start + value.length, shown: mask.header(name, value) }
}

function secretOf (given: Assignment): Secret | null {
  const { text, start, name, kind } = given
  OPENING.lastIndex = start
  const [prefix = '', quote] = OPENING.exec(text) ?? []
  if (quote !== undefined) {
    const from = start + prefix.length
    const end = closingQuote(text, from, quote)
    return isQuotedSecret(given, text.slice(from, end)) ? { from, end } : null
  }
  const bracket = kind === 'words' || name === 'code' ? null : matchAt(BRACKETED, text, start)
  return bracket === null ? bareSecret(given) : bracketedSecret(given, start + bracket.length - 1)
}

function isQuotedSecret ({ name, kind }: Assignment, value: string): boolean {
  if (/^code$/i.test(name)) return isAuthorizationCode(name, value)
  // In prose, a list of quoted words has names only.
  if (kind === 'comma') return /^x-|cookie|authorization/i.test(name)
  return kind !== 'words' || isOpaque(name, value) || (/pass|pwd/i.test(name) && /^[^\s{}()]+$/.test(value))
}

/**
 * The index of the closing quote; a doubled quote and one after a backslash close nothing. If a quote is never closed,
 * the value ends with its line: texts are truncated.
 */
function closingQuote (text: string, from: number, quote: string): number {
  const end = Math.min(text.length, from + MAX_QUOTED)
  for (let at = text.indexOf(quote, from); at !== -1 && at < end; at = text.indexOf(quote, at + quote.length)) {
    const backslashes = /\\*$/.exec(text.slice(Math.max(from, at - 16), at))?.[0].length ?? 0
    if (quote.startsWith('\\') ? backslashes > 0 : backslashes % 2 === 1) continue
    if (!/^["']$/.test(quote) || text[at + 1] !== quote) return at
    at++
  }
  return from + (matchAt(LINE, text, from) ?? '').length
}

function bracketedSecret ({ text, start, kind }: Assignment, opening: number): Secret | null {
  const end = closingBracket(text, opening)
  if (end === -1) return { from: start, end: start + (matchAt(LINE, text, start) ?? '').length }
  // `[]`, `z.string()`
  const isEmpty = /^.\s*.$/.test(text.slice(opening, end))
  if (isEmpty && !/[\w!#$%&*-]/.test(text.charAt(end))) return null
  return { from: start, end: end + (kind === 'equals' ? matchAt(BARE, text, end) ?? '' : '').length }
}

/** The index after the bracket that closes the one at an index, -1 if there is none. */
function closingBracket (text: string, opening: number): number {
  let depth = 0
  for (const { 0: found, index } of text.slice(opening, opening + MAX_BRACKETED).matchAll(BRACKET_OR_STRING)) {
    if (/[([{]/.test(found.charAt(0))) depth++
    else if (found.length === 1) depth--
    if (depth === 0) return opening + index + 1
  }
  return -1
}

function bareSecret ({ text, index, start, name, sign, kind }: Assignment): Secret | null {
  const value = matchAt(BARE, text, start)
  if (value === null) return null
  const secret = { from: start, end: start + value.length }
  if (value.length > MAX_JUDGED) return secret
  if (/^code$/i.test(name)) return isAuthorizationCode(name, value) ? secret : null
  if (isHarmless(name, value) || isPlaceholder(value)) return null
  if (kind === 'words') return isOpaque(name, value) ? secret : null
  // The next option of a command is no value.
  if (kind === 'equals') return value.startsWith('-') && name.startsWith('-') && !sign.includes('=') ? null : secret
  if (value.startsWith('/')) return null
  // `session.ts:12:3` and `//token.example:3000` are places.
  if (sign === ':' && /^\d/.test(value) && (FILE.test(name) || text.slice(index - 2, index) === '//')) return null
  if (/\d/.test(value)) return secret
  // `Invalid token: expected a number` is prose, `password: hunter` is not.
  if (PLAIN_WORD.test(value) || !/[^\W_]|[^\x00-\x7f]/.test(value)) return null
  return matchAt(ALONE, text, secret.end) === null ? null : secret
}

// `Token "3fa94c" was not found.` is about a profile.
function isOpaque (name: string, value: string): boolean {
  return OPAQUE.test(value) && !(/^[0-9a-f]{6}$/.test(value) && (/[a-f]/.test(value) || /^token$/i.test(name)))
}

/** What a sticky expression matches at an index. */
function matchAt (expression: RegExp, text: string, index: number): string | null {
  expression.lastIndex = index
  return expression.exec(text)?.[0] ?? null
}
