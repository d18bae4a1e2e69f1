import { style as readStyle } from '../../../view/style.js'
import type { Part } from '../../../view/parts.js'
import { text } from '../../../view/html.js'
import type { ErrorReport } from '../../report.js'
import { keptText } from '../kept-text.js'
import { markdownParts } from '../render-markdown.js'

// Parts that are longer are excerpts, which come again, or the last lines of the log.
const SHORT = 300

/** How the copy to take along looks. */
export const style = readStyle(import.meta.url, './style.css')

/** The report as Markdown, on the page itself: to be copied by its button, or by hand where there is no script. */
export function render (report: ErrorReport): Part[] {
  const markdown = markdownParts(report).flatMap((part, i): Part[] => [i === 0 ? '' : '\n\n', part.length > SHORT ? keptText(part) : text(part)])
  return ['<details class="copies card"><summary><h2>This report as Markdown</h2></summary>\n<pre id="as-markdown" tabindex="-1">', ...markdown, '\n</pre></details>']
}

/** The links to the copies; the script makes buttons of them. */
export function renderLinks (): string {
  return '<a href="#as-markdown" data-copies="as-markdown">Copy as Markdown</a> <a href="#stack-traces" data-copies="text">Copy as text</a>'
}
