import { style as readStyle } from '../../view/style.js'
import { KeptMarkup, type Part } from '../../view/parts.js'
import { text } from '../../view/html.js'
import type { ErrorReport } from '../../errors/report.js'
import { markdownParts } from '../render-markdown.js'

const escaped = new WeakMap<readonly string[], KeptMarkup>()

/** How the copy to take along looks. */
export const style = readStyle(import.meta.url, './style.css')

/** The report as Markdown, on the page itself: to be copied by its button, or by hand where there is no script. */
export function render (report: ErrorReport): Part[] {
  const markdown = markdownParts(report).filter((part) => part.length > 0).flatMap((part, i): Part[] => [
    i === 0 ? '' : '\n\n', typeof part === 'string' ? text(part) : escapedOnce(part)
  ])
  return ['<details class="copies card"><summary><h2>This report as Markdown</h2></summary>\n<pre id="as-markdown" tabindex="-1">', ...markdown, '\n</pre></details>']
}

/** The links to the copies; the script makes buttons of them. */
export function renderLinks (): string {
  return '<a href="#as-markdown" data-copies="as-markdown">Copy as Markdown</a> <a href="#stack-traces" data-copies="text">Copy as text</a>'
}

function escapedOnce (parts: readonly string[]): KeptMarkup {
  const known = escaped.get(parts)
  if (known !== undefined) return known
  const markup = new KeptMarkup(parts.map(text).join('\n\n'))
  escaped.set(parts, markup)
  return markup
}
