// Controls other than line feed and tab; bidirectional marks; spaces of no width; what is no character at all.
const HIDDEN = /[^\P{Cc}\n\t]|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ufffe\uffff]/gu
const LONE_SURROGATE = /\p{Surrogate}/gu

// One look settles nearly every text.
const ORDINARY = /^[\n\t -~\u00a1-\u00ac\u00ae-\u02ff]*$/

/** Makes characters seen that would otherwise vanish or reorder what stands around them; line feeds and tabs stay. */
export function visible (text: string): string {
  if (ORDINARY.test(text)) return text
  return text.replace(LONE_SURROGATE, '\ufffd').replace(HIDDEN, symbol)
}

/** The same for text that has to stay on one line: a header, a path, a heading. */
export function visibleLine (text: string): string {
  return visible(text).replaceAll('\n', '␊').replaceAll('\t', ' ')
}

/** Shortens text to what a page can carry, and says by how much. */
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
