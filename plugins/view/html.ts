import { html as escape } from 'ghtml'
import { visible } from './visible.js'

/** What a template takes: text, a number, nothing, or, behind a `!`, markup that is ready. */
export type Fragment = string | number | null | undefined | readonly string[]

/**
 * The tag of every page: escapes each value, and makes control and bidirectional characters seen.
 * Markup that is ready stands behind an exclamation mark, `!${markup}`, and a list of it is joined.
 * Attributes are always written in double quotes: a backtick is only harmless there.
 */
export function html (literals: TemplateStringsArray, ...values: Fragment[]): string {
  const shown = values.map((value, i) => {
    const ready = literals.raw[i]?.endsWith('!') === true
    return ready || value == null ? value : visible(String(value))
  })
  return escape(literals, ...shown)
}
