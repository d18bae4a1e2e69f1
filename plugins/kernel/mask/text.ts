import { maskedCookie } from './header.js'
import { MASKED, type MaskParts } from './parts.js'
import { shapes } from './shapes.js'
import { userInformation } from './url.js'

// Every expression starts at a literal or behind a look-behind, so that hostile text costs linear time.
const HEADER_IN_PROSE = /^(?:(?:set-)?cookie|(?:proxy-)?authorization|x-[\w-]+)$/i
const BEARER = /\b(Bearer)\s+(?!(?:realm|scope|error|charset)=|(?:tokens?|scheme|auth\w*)(?![\w.~+/=-]))[\w.~+/=-]+/gi
const BASIC = /\b(Basic)\s+([A-Za-z0-9+/]{4,}={0,2})/gi
const PARAMETER = /(?<=[?&])([^=&\s#?"<>]{1,256})=([^&\s#"<>]*)/g
// The last quote is that of `config['name']`.
const NAME = /(?<![\w.[\]%-])(\\?["']?)([\w.[\]%-]{1,128})\1(?:\\?["']\])?(\s*[=:]\s*)/g
// Where a quote is never closed, the value ends with its line: texts are cut off.
const VALUE = /(\\?["'])|[^\s,;&"'}\])]+/y
const QUOTED: Readonly<Record<string, RegExp>> = {
  '"': /(?:[^"\\]|\\[^])*"|[^\r\n]*/y,
  "'": /(?:[^'\\]|\\[^])*'|[^\r\n]*/y,
  '\\"': /(?:[^"\\]|\\[^"])*\\"|[^\r\n]*/y,
  "\\'": /(?:[^'\\]|\\[^'])*\\'|[^\r\n]*/y
}
const LINE_START = /(?:^|[\r\n>]|:\s|["'`])[ \t]*$/
const REST: Readonly<Record<string, RegExp>> = { '': /[^\r\n]*/y, '"': /[^\r\n"]*/y, "'": /[^\r\n']*/y, '`': /[^\r\n`]*/y }
const COOKIES = /[^\s=;,"']+=[^\s;,"']*(?:;[ \t]*[^\s=;,"']+=[^\s;,"']*)*/y
// Behind a value that stands alone: the end, a closing sign, or the next name.
const ALONE = /[ \t]*(?:$|[\r\n,;&)}\]"']|[\w.[\]-]{1,128}[=:])/y
const PLAIN_WORD = /^(?:missing|required|invalid|expired|unknown|wrong|empty|none|null|undefined|true|false)\b/i
const FILE = /\.(?:[cm]?[jt]sx?|json|html|eta|hbs|ejs|vue|node)$/i
const ELEMENT = /(?<=<)([\w.:-]{1,128})((?:\s[^<>]{0,1000})?>)(?!\s*<)[^<]+/g

/** Makes what masks prose that may hold credentials: connection strings, bearer tokens, `password=…`. */
export function textMask (parts: MaskParts): MaskParts['text'] {
  function text (text: string, nested = 0): string {
    if (parts.idle) return text
    return parts.redact(assignments(elements(shapes(userInformation(text)))
      .replace(BEARER, `$1 ${MASKED}`)
      .replace(BASIC, (all, scheme, base64) => isBasicCredential(base64) ? `${scheme} ${MASKED}` : all)
      .replace(PARAMETER, all => parts.parameters(all, nested))))
  }

  function elements (text: string): string {
    if (!text.includes('<')) return text
    return text.replace(ELEMENT, (all, name: string, rest: string) => parts.hides(name) ? name + rest + MASKED : all)
  }

  // What follows a name that hides nothing is read again, for the names in it: `Error: token=…`.
  function assignments (text: string): string {
    let shown = ''
    let done = 0
    NAME.lastIndex = 0
    for (let match = NAME.exec(text); match !== null; match = NAME.exec(text)) {
      const [, quote = '', name = '', sign = ''] = match
      const start = NAME.lastIndex
      if (!parts.hides(name)) continue
      const masked = maskedValue(text, start, { quote, name, sign, index: match.index })
      if (masked === null) continue
      shown += text.slice(done, start) + masked.value
      NAME.lastIndex = done = masked.end
    }
    return shown + text.slice(done)
  }

  function maskedValue (text: string, start: number, { quote, name, sign, index }: Assignment): { value: string, end: number } | null {
    if (quote === '' && sign.includes(':') && HEADER_IN_PROSE.test(name) && !/["'{[]/.test(text.charAt(start)) && !/[\r\n]/.test(sign)) {
      const found = headerInProse(text, start, name, index)
      if (found !== null) return found
    }
    const found = matchAt(VALUE, text, start)
    if (found === null) return null
    const [value, opening] = found
    if (opening !== undefined) {
      const inner = matchAt(QUOTED[opening] as RegExp, text, start + opening.length)?.[0] ?? ''
      const closing = inner.endsWith(opening) ? opening : ''
      return { value: opening + MASKED + closing, end: start + opening.length + inner.length }
    }
    const end = start + value.length
    const masked = { value: MASKED, end }
    if (sign === '=') return /^[{[]/.test(value) ? null : masked
    if (/^[{[/]/.test(value)) return null
    // `session.ts:12:3` and `//token.example:3000` are places.
    if (sign === ':' && /^\d/.test(value) && (FILE.test(name) || text.slice(index - 2, index) === '//')) return null
    if (quote !== '' || /\d/.test(value)) return masked
    // `Invalid token: expected a number` is prose, `password: hunter` is not.
    return /\w/.test(value) && !PLAIN_WORD.test(value) && matchAt(ALONE, text, end) !== null ? masked : null
  }

  // At the beginning of a line, of a quotation or behind another name, a header has all of its line.
  function headerInProse (text: string, start: number, name: string, index: number): { value: string, end: number } | null {
    const before = text.slice(Math.max(0, index - 8), index)
    if (LINE_START.test(before)) {
      const [rest = ''] = matchAt(REST[/["'`]$/.exec(before)?.[0] ?? ''] as RegExp, text, start) ?? []
      return rest === '' ? null : { value: parts.header(name, rest), end: start + rest.length }
    }
    const [cookies] = /cookie$/i.test(name) ? matchAt(COOKIES, text, start) ?? [] : []
    return cookies === undefined ? null : { value: cookies.split(';').map(pair => maskedCookie(pair.trim())).join('; '), end: start + cookies.length }
  }

  return text
}

interface Assignment {
  quote: string
  name: string
  sign: string
  index: number
}

function matchAt (expression: RegExp, text: string, index: number): RegExpExecArray | null {
  expression.lastIndex = index
  return expression.exec(text)
}

function isBasicCredential (base64: string): boolean {
  return /^[^\p{Cc}]*:[^\p{Cc}]*$/u.test(Buffer.from(base64, 'base64').toString('utf8'))
}
