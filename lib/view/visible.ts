// Controls except line feed and tab, bidirectional marks, zero-width spaces, and noncharacters.
const HIDDEN = /[^\P{Cc}\n\t]|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ufffe\uffff]/gu
const LONE_SURROGATE = /\p{Surrogate}/gu
const ONLY_ASCII = /^[\n\t -~]*$/
/** Characters of a code span. */
const MAX_CODE = 1_000

/** Replaces invisible characters, and those that reorder text, by visible ones; line feeds and tabs stay. */
export function visible (text: string): string {
  return ONLY_ASCII.test(text) ? text : text.replace(LONE_SURROGATE, '\ufffd').replace(HIDDEN, symbol)
}

/** The same for text that has to stay on one line: a header, a path, a heading. */
export function visibleLine (text: string): string {
  return visible(text).replaceAll('\n', '␊').replaceAll('\t', ' ')
}

/** Truncates text to `limit` characters and appends how many are left out. */
export function cut (text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}… (${grouped(text.length - limit)} more characters)`
}

function symbol (character: string): string {
  const code = character.charCodeAt(0)
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

/** A number with its word, as in `1 failure` and `1,200 failures`. */
export function counted (number: number, one: string, many?: string): string {
  return `${grouped(number)} ${wordFor(number, one, many)}`
}

/** An integer with separators, as in `1,200`. */
export function grouped (integer: number): string {
  // Most have none.
  return integer >= 0 && integer < 1_000 ? String(integer) : rounded(integer, 0)
}

const FORMATS: Intl.NumberFormat[] = []

/** A number with separators and at most so many digits of its fraction. To make a format takes 50 µs. */
export function rounded (value: number, digits: number): string {
  FORMATS[digits] ??= new Intl.NumberFormat('en', { maximumFractionDigits: digits })
  return FORMATS[digits].format(value)
}

/** Escapes text for one line of Markdown. */
export function escapeMarkdown (text: string): string {
  return visibleLine(text).replace(/[\\`*_[\]<>&|~#$]/g, '\\$&')
}

/** A fenced code block. The fence is longer than any run of backticks in the text, so that no text can close it. */
export function fence (text: string, language: string): string {
  const content = visible(text)
  const marks = '`'.repeat(Math.max(3, longestRun(content) + 1))
  return `${marks}${language}\n${content}\n${marks}`
}

/** A code span. */
export function code (text: string): string {
  const content = visibleLine(cut(text, MAX_CODE))
  const marks = '`'.repeat(longestRun(content) + 1)
  const padding = /^[` ]|[` ]$/.test(content) ? ' ' : ''
  return `${marks}${padding}${content}${padding}${marks}`
}

function longestRun (text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)
}
