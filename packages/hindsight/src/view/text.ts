import { inspect } from 'node:util'
import { attemptCall } from '../call.js'

// Controls except line feed and tab, bidirectional marks, zero-width spaces, noncharacters, and tags, which hide ASCII.
const HIDDEN = new RegExp('[^\\P{Cc}\\n\\t]|[\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060\\u2066-\\u2069\\ufeff' +
  '\\ufffe\\uffff\\u{e0000}-\\u{e007f}]', 'gu')
const LONE_SURROGATE = /\p{Surrogate}/gu
const ONLY_ASCII = /^[\n\t -~]*$/
/** Characters of a code span. */
const MAX_CODE = 1_000
/** Characters of a word, such as binary content, that is cut in two. */
const MAX_WORD = 400
const LAST_WORD = /[^\s"'`,;&<>()[\]{}]*$/

/** Replaces invisible characters, and those that reorder text, by visible ones; line feeds and tabs stay. */
export function visibleText (text: string): string {
  if (ONLY_ASCII.test(text)) return text
  return text.replace(LONE_SURROGATE, '\ufffd').replace(HIDDEN, symbol)
}

/** The same for text that has to stay on one line: a header, a path, a heading. */
export function visibleLine (text: string): string {
  return visibleText(text).replaceAll('\n', '␊').replaceAll('\t', ' ')
}

/** A message of several lines as one line. */
export function oneLine (message: string): string {
  return visibleLine(message.replace(/(?<!\s)\s+/g, (blank) => blank.includes('\n') ? ' ' : blank))
}

/** Truncates text to `limit` characters and appends how many are left out. */
export function cutText (text: string, limit: number): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit)}… (${formatInteger(text.length - limit)} more characters)`
}

/** The same for a text that is masked later: no word is cut in two, as a secret is not recognized by its beginning. */
export function cutBeforeWord (text: string, limit: number): string {
  if (text.length <= limit) return text
  const [word = ''] = LAST_WORD.exec(text.slice(Math.max(0, limit - MAX_WORD), limit)) ?? []
  return cutText(text, word.length < MAX_WORD ? limit - word.length : limit)
}

function symbol (character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '␡'
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}

/** The time of day of an ISO 8601 time; other text is truncated. */
export function timeOfDay (time: string): string {
  return /T(\d\d:\d\d:\d\d\.\d{3})/.exec(time)?.[1] ?? visibleLine(time.slice(0, 40))
}

/** The singular for 1, otherwise the plural: by default the singular with an s. */
export function wordFor (number: number, one: string, many = `${one}s`): string {
  return number === 1 ? one : many
}

/** A sentence of a page, in which no line ends between a number and its unit. */
export function unbrokenUnits (sentence: string): string {
  return sentence.replace(/(?<=\d) (?=(?:[µm]?s|min|h|bytes|[kMG]B)\b)/g, '\u00a0')
}

/** A number with its word, as in `1 failure` and `1,200 failures`. */
export function formatCount (number: number, one: string, many?: string): string {
  return `${formatInteger(number)} ${wordFor(number, one, many)}`
}

/** An integer with separators, as in `1,200`. */
export function formatInteger (integer: number): string {
  // Most have none.
  return integer >= 0 && integer < 1_000 ? String(integer) : formatNumber(integer, 0)
}

/** A number with separators and at most so many digits of its fraction. The first format of `Intl` takes 30 ms. */
export function formatNumber (value: number, digits: number): string {
  const factor = 10 ** digits
  // The product of 1.005 and 100 is less than 100.5.
  const rounded = Math.round(Number((value * factor).toPrecision(15))) / factor
  return String(rounded).replace(/\B(?=(?:\d{3})+(?:\.|$))/g, ',')
}

/** Escapes text for one line of Markdown. */
export function escapeMarkdown (text: string): string {
  return visibleLine(text).replace(/[\\`*_[\]<>&|~#$]/g, '\\$&')
}

/** A fenced code block. The fence is longer than any run of backticks in the text, so that no text can close it. */
export function fencedCode (text: string, language: string): string {
  const content = visibleText(text)
  const marks = '`'.repeat(Math.max(3, longestRun(content) + 1))
  return `${marks}${language}\n${content}\n${marks}`
}

/** A code span. */
export function codeSpan (text: string): string {
  const content = visibleLine(cutText(text, MAX_CODE))
  const marks = '`'.repeat(longestRun(content) + 1)
  const padding = /^[` ]|[` ]$/.test(content) ? ' ' : ''
  return `${marks}${padding}${content}${padding}${marks}`
}

function longestRun (text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)
}

/** A process may have this module twice: tsx compiles a required module again. */
const MARKUP = Symbol.for('fastify-hindsight.markup')

/** Markup, which the tag `html` inserts as it is; `String(markup)` is its text. */
export class SafeHtml {
  readonly [MARKUP]: string

  /** For markup that does not come from `html`, such as that of a template engine: nothing is escaped. */
  constructor (markup: string) {
    this[MARKUP] = markup
  }

  toString (): string {
    return this[MARKUP]
  }
}

/** A value of `html`: text, a number, markup, nothing, or a list of these. */
export type HtmlValue = string | number | SafeHtml | null | undefined | false | readonly HtmlValue[]

/**
 * Escapes a text for HTML and replaces its control and bidirectional characters by visible ones. The non-ASCII signs of
 * Hindsight's texts are escaped, too: to send a page that is only ASCII costs a tenth less.
 */
export function escapeHtml (value: string): string {
  return visibleText(value).replace(/["&'<>·…’\u00a0]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/**
 * The template tag for HTML: text is escaped, markup of another `html` is inserted, a list is joined, and null,
 * undefined and false are nothing. Attributes must be in double quotes. A backslash at the end of a line joins it with
 * the next.
 */
export function html (strings: TemplateStringsArray, ...values: HtmlValue[]): SafeHtml {
  let markup = strings[0] as string
  for (let i = 0; i < values.length; i++) markup += markupOf(values[i]) + (strings[i + 1] as string)
  return new SafeHtml(markup)
}

function markupOf (value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return ''
  if (typeof value === 'object' && MARKUP in value) return value[MARKUP]
  if (Array.isArray(value)) return value.map(markupOf).join('')
  return escapeHtml(String(value))
}

/** The items that are not null, undefined or false: `[title, count > 0 && rest]` has one or two. */
export function presentItems<T> (items: ReadonlyArray<T | null | undefined | false>): T[] {
  return items.filter((item): item is T => item != null && item !== false)
}

/** A page. */
export function htmlPage (title: string, head: HtmlValue, body: HtmlValue): SafeHtml {
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
<body>
${body}
</body>
</html>
`
}

/** The body of a redirect, for clients that do not follow it (RFC 9110, section 15.4). */
export function redirectPage (location: string): string {
  const body = html`<p>Redirecting to <a href="${location}">${location}</a>.</p>`
  return String(htmlPage(`Redirecting to ${location}`, '', body))
}

/** Characters that end a line, or that hide or reorder the text around them. */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu

/** An object of JSON. */
export type Data = Record<string, unknown>

export function isObject (value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON of data in which invisible characters are escapes. */
export function visibleJson (value: unknown, indent = 0): string {
  // Line feeds stay: only the indentation has them.
  return JSON.stringify(value, null, indent).replace(INVISIBLE, (character) => {
    if (character === '\n') return character
    return character.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
  })
}

/** Text as it is, other data as JSON. */
export function textOrJson (data: unknown, indent = 0): string {
  return typeof data === 'string' ? data : JSON.stringify(data, null, indent)
}

/** JSON of any value. Values without a form in JSON become text; a value that cannot be serialized is inspected. */
export function safeJson (value: unknown, indent = 0): string {
  return attemptCall(() => JSON.stringify(value, replacer, indent) ?? inspectValue(value), () =>
    JSON.stringify(inspectValue(value)))
}

function replacer (_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'symbol' || typeof value === 'function') return inspectValue(value)
  if (value instanceof Error) return { ...value, name: value.name, message: value.message }
  if (value instanceof Map || value instanceof Set) return [...value]
  return value
}

/** Any value as bounded text. Strings stay as they are. */
export function inspectValue (value: unknown): string {
  if (typeof value === 'string') return value
  const limits = { depth: 3, maxArrayLength: 20, maxStringLength: 2_000, breakLength: 100 }
  return attemptCall(() => inspect(value, limits), () => '[a value that cannot be read]')
}
