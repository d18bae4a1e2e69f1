import { maskCookies } from './http.js'
import type { Mask } from './mask.js'
import { isAuthorizationCode, isHarmless, isPlaceholder, MASKED } from './names.js'

const QUOTE = String.raw`\\{0,7}["'${'`'}]|&quot;|&#3[49];|&#x2[27];|[“”„‘’«»]`
const CLOSING: Readonly<Record<string, string>> = { '“': '”', '„': '”', '‘': '’', '«': '»' }
const CHAR = String.raw`[\w\u00c0-\u1fff\u3040-\ud7ff.[\]%-]`
// A name, the quote and the brackets after it, and what connects it with its value: a sign, or words (`password is`).
const NAME = new RegExp(`(?<!${CHAR})(?<name>${CHAR}{1,128})(?<quote>${QUOTE})?(?<brackets>[\\])]{0,2})(?<sign>` +
  String.raw`(?:\s+(?:for|of|provided|given|supplied|received|used|mismatch|rejected|value)(?:\s[^\s:=]{1,64})?)?` +
  String.raw`\s*(?:[：＝]|[=!<>]=+>?|[=-]>|[:+.?|]?=|<>|:\s?&?(?:str(?:ing)?|any)\s?=(?=\s?["'${'`'}])|:(?!:)|` +
  String.raw`;s:\d{1,9}:|,(?=\s*(?:${QUOTE})))\s*|` +
  String.raw`\s+(?:(?:for|of)\s\S{1,64}\s)?(?:is|was|got|with value|i?like|in)\s+|\s*\|\s*|[ \t]+)`, 'gi')
// With the prefixes of literals and types: `u'…'`, `N'…'`, `!!str "…"`, `string(8) "…"`.
const OPENING = new RegExp(String.raw`(?:[ubrfnes@$]{0,2}|[&!]{1,2}\w{1,40} |\w{1,10}\(\d{1,9}\) )` +
  String.raw`(\\{0,7}(?:"""|''')|${QUOTE})`, 'iy')
const BARE = new RegExp(String.raw`(?:[&!]{1,2}\w{1,40} )?` +
  String.raw`(?:\\[^\s"']|[^\s,;&"'${'`'}\])}<\\]|<(?!/|[a-z][\w-]{0,20}(?:\s[^<>]{0,100})?>)|` +
  // A quote within a word, after its first character.
  String.raw`(?<=\w)\\{0,7}["'${'`'}](?=\w)|[,;&)}\]](?=[^\s,;&"'${'`'})}\]])` +
  String.raw`(?!#|quot;|[lg]t;|(?:amp;|&)?["'${'`'}]?${CHAR}{1,128}(?:${QUOTE})?\s?[=:]))+`, 'iy')
// `Optional[…]`, `Secret { … }`, `Set(2) { … }`, `{…}`
const BRACKETED = /(?:[A-Za-z][A-Za-z.]{0,60}|(?:[A-Z][A-Za-z.]{0,60}(?:\(\d{0,9}\))? ))?(?:\(\d{0,9}\) )?[([{]/y
const BRACKETS = /"(?:[^"\\]|\\[^])*"|(?<!\w)'(?:[^'\\]|\\[^])*'|[[({]|[\])}]/g
/** Characters that are read for the end of a value in brackets or quotes. */
const MAX_BRACKETED = 2_000
const MAX_QUOTED = 10_000
// A longer value without quotes is masked, so that names within it do not read it again.
const MAX_JUDGED = 1_000
// In YAML, an indented text after `|` or `>`, and a list.
const BLOCK = /[|>][+-]?\d?[ \t]*\r?\n(?:[ \t]+[^\n]*(?:\n|$))+|(?:- [^\n]*(?:\n[ \t]*(?=- )|$)?)+/y
const PHRASE = /(?:[ \t]+[a-z]{2,12}){2,}/y
const CODE = /(\\{0,7}["'`]?)([\w~./+%-]+={0,2})/y
const HEADER = /^(?:(?:set-)?cookie|(?:proxy-)?authorization|x-[\w-]+)$/i
const LINE_START = /(?:^|[\r\n>]|:\s|["'`])[ \t]*$/
const LINE = /[^\r\n]*/y
const COOKIES = /[^\s=;,"']{1,256}=[^\s;,"']*(?:;[ \t]*[^\s=;,"']+=[^\s;,"']*)*/y
// What follows a single value: the end, a closing sign, or the next name.
const ALONE = /[ \t]*(?:$|[\r\n,;&)}\]"'#]|<\/|[\w.[\]-]{1,128}[=:])/y
const PLAIN_WORD = new RegExp('^(?:missing|required|invalid|expired|unknown|wrong|empty|not|must|should|yes|no|' +
  'string|number|boolean|object|any|command|incorrect|failed|denied|too|has|cannot)(?![\\w-])', 'i')
// `Secret "db" not found` is about a resource.
const ABSENT = /^\s(?:(?:is|was) )?(?:not found|missing|does not exist|already exists)/
// Not a word: letters and digits mixed, or the digits of a code.
const OPAQUE = /^(?:\d{4,8}|\d{3}-\d{2}-\d{4}|(?=[^\d]{0,200}\d)(?=[^a-z]{0,200}[a-z])[^\s()/]{6,})$/i
const PASSWORD = /pass|pwd|pw|secret/i
const FILE = /\.(?:[cm]?[jt]sx?|json|html|eta|hbs|ejs|vue|node)$/i
// Words that are secret names with the word before them: `API key`, `session id`.
const SECOND_WORD = /^(?:keys?|codes?|number|string|phrase|id)$/i

interface Assignment {
  text: string
  /** Where the name and the value start. */
  index: number
  start: number
  name: string
  /** The quote after the name. */
  quote: string
  sign: string
  /** Only after `=` and similar signs any word is a value. */
  kind: 'equals' | 'colon' | 'comma' | 'words'
}

interface Found { shown: string, end: number }

/** Bounds the cost of a text: after so many characters were read for closing brackets, a value ends with its line. */
interface Budget { left: number }

/** Masks values after secret names: `password=…`, `'password' => '…'`, `--password …`, `the password is …`. */
export function maskAssignments (mask: Mask, text: string): string {
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
      // In prose backticks mark words: they are not quotes of a name.
      const given = { text, index, start, name, quote: quote === '`' ? '' : quote, sign, kind: kindOf(sign, name) }
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

/** The end of the value that starts at an index: a literal, or text without spaces; -1 if there is none. */
export function valueEnd (text: string, start: number): number {
  const given = { text, index: start, start, name: '', quote: '', sign: '=', kind: 'equals' } as const
  return maskedValue(given, { left: MAX_BRACKETED })?.end ?? -1
}

function isHidden ({ hides }: Mask, text: string, name: string, index: number): boolean {
  if (hides(name)) return true
  const before = SECOND_WORD.test(name) && /([A-Za-z-]{2,20}) $/.exec(text.slice(Math.max(0, index - 24), index))
  return before ? hides((`${before[1]}${name}`).toLowerCase()) : false
}

function kindOf (sign: string, name: string): Assignment['kind'] {
  if (/[=＝>]|;s:/.test(sign)) return 'equals'
  if (/[:：]/.test(sign)) return 'colon'
  if (sign.includes(',')) return 'comma'
  return name.startsWith('-') && !sign.includes('|') ? 'equals' : 'words'
}

function maskedCode (text: string, name: string, start: number): Found | null {
  if (!/^code$/i.test(name)) return null
  const [all = '', opening = '', code = ''] = matchAt(CODE, text, start) ?? []
  return isAuthorizationCode(name, code) ? { shown: opening + MASKED, end: start + all.length } : null
}

/** The value of a header: at the beginning of a line, of a quotation or after another name it has all of its line. */
function maskedHeader (mask: Mask, { text, index, start, name, quote, sign }: Assignment): Found | null {
  if (quote !== '' || !/^[^\r\n]*:[^\r\n]*$/.test(sign) || !HEADER.test(name)) return null
  if (/["'{[]/.test(text.charAt(start))) return null
  const before = text.slice(Math.max(0, index - 8), index)
  if (LINE_START.test(before)) {
    const opening = /["'`]$/.exec(before)?.[0] ?? ''
    const [rest = ''] = matchAt(new RegExp(`[^\\r\\n${opening}]*`, 'y'), text, start) ?? []
    return rest === '' ? null : { shown: mask.header(name, rest), end: start + rest.length }
  }
  const [cookies] = /cookie$/i.test(name) ? matchAt(COOKIES, text, start) ?? [] : []
  return cookies === undefined ? null : { shown: maskCookies(cookies), end: start + cookies.length }
}

function maskedValue (given: Assignment, budget: Budget): Found | null {
  const { text, start, sign, kind } = given
  const opening = matchAt(OPENING, text, start)
  if (opening !== null) return quoted(given, opening[1] as string, start + opening[0].length)
  if (kind === 'comma') return null
  const block = kind === 'colon' ? matchAt(BLOCK, text, start)?.[0] : undefined
  if (block !== undefined && block.length > 2) {
    return { shown: MASKED + (block.endsWith('\n') ? '\n' : ''), end: start + block.length }
  }
  const bracket = kind === 'words' && !/\sin\s/i.test(sign) ? null : matchAt(BRACKETED, text, start)
  return bracket === null ? bare(given) : bracketed(given, start + bracket[0].length - 1, budget)
}

function quoted (given: Assignment, opening: string, from: number): Found | null {
  const { text, index, start, name, quote, sign, kind } = given
  const before = text.slice(Math.max(0, index - 9), index)
  const closing = CLOSING[opening] ?? opening
  const isSure = kind === 'equals' || kind === 'colon'
  const limit = from + (isSure ? MAX_QUOTED : MAX_JUDGED)
  let end = closingQuote(text.slice(0, limit), from, closing)
  if (end === -1 && !isSure && text.length > limit) return null
  // If a quote is never closed, the value ends with its line: texts are cut off.
  const isClosed = end !== -1
  if (!isClosed) end = from + (matchAt(LINE, text, from)?.[0].length ?? 0)
  const value = text.slice(from, end)
  const after = end + (isClosed ? closing.length : 0)
  // Backticks are quotes of code, but in prose they mark words.
  const isMarked = opening === '`' && kind === 'colon' && quote === '' && !/[{,]\s*$/.test(before)
  if ((kind === 'words' || isMarked) && !isOpaque(name, value)) {
    const isPassword = PASSWORD.test(name) && /^[^\s{}()]+$/.test(value) && !PLAIN_WORD.test(value)
    if (!isPassword || opening === '`' || sign.includes('|') || ABSENT.test(text.slice(after, after + 30))) return null
  }
  if (kind === 'comma') {
    // `['password', '…']`; in lists of headers also without brackets.
    const isPair = /[[(]\s?["']$/.test(before) && /^\s*[\])]/.test(text.slice(after, after + 9))
    if (!/["']$/.test(quote) || (!isPair && !HEADER.test(name))) return null
  }
  return { shown: text.slice(start, from) + MASKED + (isClosed ? closing : ''), end: after }
}

/** The index of the closing quote, -1 if there is none. A doubled quote and one after a backslash close nothing. */
function closingQuote (text: string, from: number, closing: string): number {
  for (let at = text.indexOf(closing, from); at !== -1; at = text.indexOf(closing, at + closing.length)) {
    const backslashes = /\\*$/.exec(text.slice(Math.max(from, at - 16), at))?.[0].length ?? 0
    if (closing.startsWith('\\') ? backslashes > 0 : backslashes % 2 === 1) continue
    if (/^["']$/.test(closing) && text[at + 1] === closing) at++
    // An apostrophe in a shell.
    else if (closing === "'" && text.startsWith("\\''", at + 1)) at += 3
    else return at
  }
  return -1
}

function bracketed ({ text, start, kind, quote }: Assignment, opening: number, budget: Budget): Found | null {
  let depth = 0
  const isLeft = budget.left > 0
  for (const { index, 0: part } of text.slice(opening, opening + (isLeft ? MAX_BRACKETED : 0)).matchAll(BRACKETS)) {
    if (part.length > 1) continue
    depth += /[[({]/.test(part) ? 1 : -1
    if (depth > 0) continue
    const end = opening + index + 1
    // `[]`, `z.string()`
    const isEmpty = /^.\s*.$/.test(text.slice(opening, end))
    if (isEmpty && !/[\w!#$%&*-]/.test(text.charAt(end))) return null
    return { shown: MASKED, end: end + (kind === 'equals' ? matchAt(BARE, text, end)?.[0].length ?? 0 : 0) }
  }
  budget.left -= MAX_BRACKETED
  if (kind !== 'equals' && quote === '' && isLeft) return null
  const [line = ''] = matchAt(LINE, text, start) ?? []
  const end = start + line.length
  return /\w|[^\x00-\x7f]/.test(text.slice(opening, end)) ? { shown: MASKED, end } : null
}

function bare (given: Assignment): Found | null {
  const { text, index, start, name, sign, kind } = given
  const value = matchAt(BARE, text, start)?.[0]
  if (value === undefined) return null
  const end = start + value.length
  if (value.length > MAX_JUDGED) return { shown: MASKED, end }
  if (isHarmless(name, value) || isPlaceholder(value)) return null
  if (kind === 'words') return isOpaque(name, value) ? { shown: MASKED, end } : null
  const phrase = PLAIN_WORD.test(value) ? '' : phraseAfter(given, end)
  const found = { shown: MASKED, end: end + phrase.length }
  if (kind === 'equals') return value.startsWith('-') && name.startsWith('-') && !sign.includes('=') ? null : found
  if (value.startsWith('/')) return null
  // `session.ts:12:3` and `//token.example:3000` are places.
  if (sign === ':' && /^\d/.test(value) && (FILE.test(name) || text.slice(index - 2, index) === '//')) return null
  if (phrase !== '' || /\d/.test(value)) return found
  // `Invalid token: expected a number` is prose, `password: hunter` is not.
  if (PLAIN_WORD.test(value) || !/[^\W_]|[^\x00-\x7f]/.test(value)) return null
  return matchAt(ALONE, text, end) === null ? null : found
}

// `Token "3fa94c" was not found.` is about a profile.
function isOpaque (name: string, value: string): boolean {
  return OPAQUE.test(value) && !(/^[0-9a-f]{6}$/.test(value) && (/[a-f]/.test(value) || /^token$/i.test(name)))
}

/** The other words of `mnemonic: abandon ability able …`, and of a password that has the rest of its line. */
function phraseAfter ({ text, index, name }: Assignment, end: number): string {
  if (!/mnemonic|phrase|seed|pass/i.test(name)) return ''
  const words = matchAt(PHRASE, text, end)?.[0] ?? ''
  const hasLine = /pass/i.test(name) && LINE_START.test(text.slice(Math.max(0, index - 8), index))
  return hasLine || words.trim().split(/\s+/).length >= 5 ? words : ''
}

function matchAt (expression: RegExp, text: string, index: number): RegExpExecArray | null {
  expression.lastIndex = index
  return expression.exec(text)
}
