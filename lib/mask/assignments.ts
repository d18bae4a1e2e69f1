import { maskedCookie } from './header.js'
import { isAuthorizationCode, isHarmless, isPlaceholder } from './names.js'
import { MASKED, type MaskParts } from './parts.js'

const QUOTE = '\\\\{0,7}["\'`]|&quot;|&#3[49];|&#x2[27];|[“”„‘’«»]'
const CLOSING: Readonly<Record<string, string>> = { '“': '”', '„': '”', '‘': '’', '«': '»' }
const CHAR = '[\\w\\u00c0-\\u1fff\\u3040-\\ud7ff.[\\]%-]'
// A name, the quote and the brackets after it, and what connects it with its value: a sign, or words (`password is …`).
const NAME = new RegExp(`(?<!${CHAR})(${CHAR}{1,128})(${QUOTE})?([\\])]{0,2})(` +
  '(?:\\s+(?:for|of|provided|given|supplied|received|used|mismatch|rejected|value)(?:\\s[^\\s:=]{1,64})?)?' +
  `\\s*(?:[：＝]|[=!<>]=+>?|[=-]>|[:+.?|]?=|<>|:(?!:)|;s:\\d{1,9}:|,(?=\\s*(?:${QUOTE})))\\s*` +
  '|\\s+(?:(?:for|of)\\s\\S{1,64}\\s)?(?:is|was|got|with value|i?like|in)\\s+|\\s*\\|\\s*|[ \\t]+)', 'gi')
// With the prefixes of literals and types: `u'…'`, `N'…'`, `!!str "…"`, `string(8) "…"`.
const OPENING = new RegExp('(?:[ubrfnes@$]{0,2}|[&!]{1,2}\\w{1,40} |\\w{1,10}\\(\\d{1,9}\\) )' +
  `(\\\\{0,7}(?:"""|''')|${QUOTE})`, 'iy')
const BARE = new RegExp('(?:[&!]{1,2}\\w{1,40} )?' +
  '(?:\\\\[^\\s"\']|[^\\s,;&"\'`\\])}<\\\\]|<(?!/|[a-z][\\w-]{0,20}(?:\\s[^<>]{0,100})?>)|' +
  // A quote within a word, after its first character.
  '(?<=\\w)\\\\{0,7}["\'`](?=\\w)|[,;&)}\\]](?=[^\\s,;&"\'`)}\\]])' +
  `(?!#|quot;|[lg]t;|(?:amp;|&)?["'\`]?${CHAR}{1,128}(?:${QUOTE})?\\s?[=:]))+`, 'iy')
// `Optional[…]`, `Secret { … }`, `Set(2) { … }`, `{…}`
const BRACKETED = /(?:[A-Za-z][A-Za-z.]{0,60}|(?:[A-Z][A-Za-z.]{0,60}(?:\(\d{0,9}\))? ))?(?:\(\d{0,9}\) )?[([{]/y
const BRACKETS = /"(?:[^"\\]|\\[^])*"|(?<!\w)'(?:[^'\\]|\\[^])*'|[[({]|[\])}]/g
const MAX_BRACKETED = 2_000
// What is longer is judged without being read to its end, so that names within it do not read it again.
const MAX_JUDGED = 1_000
// In YAML, an indented text after `|` or `>`, and a list.
const BLOCK = /[|>][+-]?\d?[ \t]*\r?\n(?:[ \t]+[^\n]*(?:\n|$))+|(?:- [^\n]*(?:\n[ \t]*(?=- )|$)?)+/y
const PHRASE = /(?:[ \t]+[a-z]{2,12}){2,}/y

const CODE = /(\\{0,7}["'`]?)([\w~./+%-]+={0,2})/y

const HEADER = /^(?:(?:set-)?cookie|(?:proxy-)?authorization|x-[\w-]+)$/i
const LINE_START = /(?:^|[\r\n>]|:\s|["'`])[ \t]*$/
const LINE = /[^\r\n]*/y
const REST: Readonly<Record<string, RegExp>> = { '': LINE, '"': /[^\r\n"]*/y, "'": /[^\r\n']*/y, '`': /[^\r\n`]*/y }
const COOKIES = /[^\s=;,"']{1,256}=[^\s;,"']*(?:;[ \t]*[^\s=;,"']+=[^\s;,"']*)*/y

// After a value that stands alone: the end, a closing sign, or the next name.
const ALONE = /[ \t]*(?:$|[\r\n,;&)}\]"'#]|<\/|[\w.[\]-]{1,128}[=:])/y
const PLAIN_WORD = new RegExp('^(?:missing|required|invalid|expired|unknown|wrong|empty|not|must|should|yes|no|' +
  'string|number|boolean|object|any|command|incorrect|failed|denied|too|has|cannot)(?![\\w-])', 'i')
// `Secret "db" not found` is about a resource.
const ABSENT = /^\s(?:(?:is|was) )?(?:not found|missing|does not exist|already exists)/
// No word: letters and digits mixed, or the digits of a code.
const OPAQUE = /^(?:\d{4,8}|\d{3}-\d{2}-\d{4}|(?=[^\d]{0,200}\d)(?=[^a-z]{0,200}[a-z])[^\s()/]{6,})$/i
const PASSWORD = /pass|pwd|pw|secret/i
const FILE = /\.(?:[cm]?[jt]sx?|json|html|eta|hbs|ejs|vue|node)$/i
/** Words that are secret names with the word before them: `API key`, `session id`. */
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
  /** Of the signs, only `=` and its like are enough to say that any word after them is a value. */
  kind: 'equals' | 'colon' | 'comma' | 'words'
}

/** What keeps the cost of a text linear. */
interface Scan {
  /** Quotes that are not closed in the rest of the text. */
  unclosed: Set<string>
  /** How many characters may be read in search of closing brackets; after them a value ends with its line. */
  left: number
}

interface Found { shown: string, end: number }

/** Returns what masks values after secret names: `password=…`, `'password' => '…'`, `--password …`, `password is …`. */
export function assignmentMask (parts: MaskParts): (text: string) => string {
  function hides (text: string, name: string, index: number): boolean {
    if (parts.hides(name)) return true
    if (!SECOND_WORD.test(name)) return false
    const before = /([A-Za-z-]{2,20}) $/.exec(text.slice(Math.max(0, index - 24), index))?.[1]
    return before !== undefined && parts.hides((before + name).toLowerCase())
  }

  // At the beginning of a line, of a quotation or after another name, a header has all of its line.
  function header ({ text, index, start, name }: Assignment): Found | null {
    const before = text.slice(Math.max(0, index - 8), index)
    if (LINE_START.test(before)) {
      const [rest = ''] = matchAt(REST[/["'`]$/.exec(before)?.[0] ?? ''] as RegExp, text, start) ?? []
      return rest === '' ? null : { shown: parts.header(name, rest), end: start + rest.length }
    }
    const [cookies] = /cookie$/i.test(name) ? matchAt(COOKIES, text, start) ?? [] : []
    if (cookies === undefined) return null
    const shown = cookies.split(';').map((pair) => maskedCookie(pair.trim())).join('; ')
    return { shown, end: start + cookies.length }
  }

  return (text) => {
    const scan = { unclosed: new Set<string>(), left: MAX_BRACKETED + 4 * text.length }
    let [shown, done] = ['', 0]
    NAME.lastIndex = 0
    for (let match = NAME.exec(text); match !== null; match = NAME.exec(text)) {
      const [all, name = '', after = '', brackets = '', sign = ''] = match
      // In prose backticks mark words: no names of fields.
      const quote = after === '`' ? '' : after
      const { index } = match
      // What follows a name that hides nothing is read again, for the names in it: `Error: token=…`.
      NAME.lastIndex = index + name.length
      const isHidden = hides(text, name, index)
      if (!isHidden && !/^code$/i.test(name)) continue
      // The end of a sentence, and the parameters of an arrow function.
      if (name.endsWith('.') || (brackets.includes(')') && sign.includes('=>'))) continue
      if (!isHidden) {
        const [, opening = '', code = ''] = matchAt(CODE, text, index + all.length) ?? []
        if (!isAuthorizationCode(name, code)) continue
        shown += text.slice(done, index + all.length) + opening + MASKED
        NAME.lastIndex = done = index + all.length + opening.length + code.length
        continue
      }
      const assignment = { text, index, start: index + all.length, name, quote, sign, kind: kindOf(sign, name) }
      const found = (isHeader(assignment) ? header(assignment) : null) ?? maskedValue(assignment, scan)
      if (found === null) continue
      shown += text.slice(done, assignment.start) + found.shown
      NAME.lastIndex = done = found.end
    }
    return shown + text.slice(done)
  }
}

/** The end of the value that starts at a place: a literal, or text without spaces. */
export function valueEnd (text: string, start: number): number {
  const assignment = { text, index: start, start, name: '', quote: '', sign: '=', kind: 'equals' } as const
  return maskedValue(assignment, { unclosed: new Set(), left: MAX_BRACKETED })?.end ?? -1
}

function isHeader ({ text, start, name, quote, sign }: Assignment): boolean {
  if (quote !== '' || !sign.includes(':') || /[\r\n]/.test(sign)) return false
  return HEADER.test(name) && !/["'{[]/.test(text.charAt(start))
}

function kindOf (sign: string, name: string): Assignment['kind'] {
  if (/[=＝>]|;s:/.test(sign)) return 'equals'
  if (/[:：]/.test(sign)) return 'colon'
  if (sign.includes(',')) return 'comma'
  return name.startsWith('-') && !sign.includes('|') ? 'equals' : 'words'
}

function maskedValue (assignment: Assignment, scan: Scan): Found | null {
  const { text, start, kind } = assignment
  const opening = matchAt(OPENING, text, start)
  if (opening !== null) return quoted(assignment, opening[1] as string, start + opening[0].length, scan)
  if (kind === 'comma') return null
  const block = kind === 'colon' ? matchAt(BLOCK, text, start)?.[0] : undefined
  if (block !== undefined && block.length > 2) {
    return { shown: MASKED + (block.endsWith('\n') ? '\n' : ''), end: start + block.length }
  }
  const bracket = kind === 'words' && !/\sin\s/i.test(assignment.sign) ? null : matchAt(BRACKETED, text, start)
  if (bracket !== null) return bracketed(assignment, start + bracket[0].length - 1, scan)
  return bare(assignment)
}

function quoted (assignment: Assignment, opening: string, from: number, { unclosed }: Scan): Found | null {
  const { text, index, start, name, quote, sign, kind } = assignment
  const before = text.slice(Math.max(0, index - 9), index)
  const closing = CLOSING[opening] ?? opening
  const isSure = kind === 'equals' || kind === 'colon'
  let end = unclosed.has(closing) ? -1 : closingQuote(isSure ? text : text.slice(0, from + MAX_JUDGED), from, closing)
  if (end === -1 && !isSure && text.length > from + MAX_JUDGED) return null
  // Where a quote is never closed, the value ends with its line: texts are cut off.
  const isClosed = end !== -1
  if (!isClosed) {
    unclosed.add(closing)
    end = from + (matchAt(LINE, text, from)?.[0].length ?? 0)
  }
  const value = text.slice(from, end)
  const after = end + (isClosed ? closing.length : 0)
  // Backticks are quotes of code, but in prose they mark words.
  const isMarked = opening === '`' && kind === 'colon' && quote === '' && !/[{,]\s*$/.test(before)
  if ((kind === 'words' || isMarked) && !isOpaque(name, value)) {
    const isPassword = PASSWORD.test(name) && /^[^\s{}()]+$/.test(value) && !PLAIN_WORD.test(value)
    if (!isPassword || opening === '`' || sign.includes('|')) return null
    if (ABSENT.test(text.slice(after, after + 30))) return null
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
    // How a shell writes an apostrophe.
    else if (closing === "'" && text.startsWith("\\''", at + 1)) at += 3
    else return at
  }
  return -1
}

function bracketed ({ text, start, kind, quote }: Assignment, opening: number, scan: Scan): Found | null {
  let depth = 0
  const isLeft = scan.left > 0
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
  scan.left -= MAX_BRACKETED
  if (kind !== 'equals' && quote === '' && isLeft) return null
  const [line = ''] = matchAt(LINE, text, start) ?? []
  const end = start + line.length
  return /\w|[^\x00-\x7f]/.test(text.slice(opening, end)) ? { shown: MASKED, end } : null
}

function bare (assignment: Assignment): Found | null {
  const { text, index, start, name, sign, kind } = assignment
  const value = matchAt(BARE, text, start)?.[0]
  if (value === undefined) return null
  const end = start + value.length
  if (value.length > MAX_JUDGED) return { shown: MASKED, end }
  if (isHarmless(name, value) || isPlaceholder(value)) return null
  const phrase = kind === 'words' || PLAIN_WORD.test(value) ? '' : phraseAfter(assignment, end)
  const found = { shown: MASKED, end: end + phrase.length }
  if (kind === 'words') return isOpaque(name, value) ? found : null
  if (kind === 'equals') return value.startsWith('-') && name.startsWith('-') && !sign.includes('=') ? null : found
  if (/^[/]/.test(value)) return null
  // `session.ts:12:3` and `//token.example:3000` are places.
  if (sign === ':' && /^\d/.test(value) && (FILE.test(name) || text.slice(index - 2, index) === '//')) return null
  if (phrase !== '' || /\d/.test(value)) return found
  // `Invalid token: expected a number` is prose, `password: hunter` is not.
  if (PLAIN_WORD.test(value) || !/[^\W_]|[^\x00-\x7f]/.test(value)) return null
  return matchAt(ALONE, text, end) !== null ? found : null
}

// `Token "3fa94c" was not found.` is about a profile.
function isOpaque (name: string, value: string): boolean {
  return OPAQUE.test(value) && !(/^[0-9a-f]{6}$/.test(value) && (/[a-f]/.test(value) || /^token$/i.test(name)))
}

// The other words of `mnemonic: abandon ability able …`, and of a password that has the rest of its line.
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
