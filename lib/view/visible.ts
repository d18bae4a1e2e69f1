// Controls except line feed and tab, bidirectional marks, zero-width spaces, and noncharacters.
const HIDDEN = /[^\P{Cc}\n\t]|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ufffe\uffff]/gu
const LONE_SURROGATE = /\p{Surrogate}/gu
const ONLY_ASCII = /^[\n\t -~]*$/

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
  if (text.length <= limit) return text
  const dropped = text.length - limit
  return `${text.slice(0, limit)}… (${dropped.toLocaleString('en')} more characters)`
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
