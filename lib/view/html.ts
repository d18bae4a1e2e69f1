import { html as escape } from 'ghtml'
import { visible } from './visible.js'

/** What a template takes: text, a number, nothing, or, behind a `!`, markup that is ready. */
export type Fragment = string | number | null | undefined | readonly string[]

// Most of what a page shows needs neither escaping nor making seen: one look is cheaper than the replacements.
const PLAIN = /^[\n\t -!#-%(-;=?-_a-~]*$/
const EXCLAMATION_MARK = 33

/** One value as a page shows it: escaped, with control and bidirectional characters made seen. */
export function text (value: string): string {
  return PLAIN.test(value) ? value : escape`${visible(value)}`
}

/**
 * The tag of every page: escapes each value, and makes control and bidirectional characters seen.
 * Markup that is ready stands behind an exclamation mark, `!${markup}`, and a list of it is joined.
 * Attributes are always written in double quotes: a backtick is only harmless there.
 */
export function html ({ raw }: TemplateStringsArray, ...values: Fragment[]): string {
  let markup = ''
  for (let i = 0; i < values.length; i++) {
    const literal = raw[i] as string
    const value = values[i]
    const end = literal.length - 1
    if (literal.charCodeAt(end) === EXCLAMATION_MARK) {
      markup += literal.slice(0, end)
      markup += Array.isArray(value) ? value.join('') : value ?? ''
    } else {
      markup += literal
      if (value !== null && value !== undefined) markup += text(String(value))
    }
  }
  return markup + (raw[values.length] as string)
}
