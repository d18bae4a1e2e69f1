import { LimitedMap } from '../../kernel/limited-map.js'
import { text } from '../../view/html.js'
import { KeptMarkup } from '../../view/parts.js'

const known = new LimitedMap<KeptMarkup>(100, 500_000)

/** Text that many pages show, such as a stack: escaped once. */
export function keptText (value: string): KeptMarkup {
  const before = known.get(value)
  if (before !== undefined) return before
  const markup = new KeptMarkup(text(value))
  known.set(value, markup)
  return markup
}
