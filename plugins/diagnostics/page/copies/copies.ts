import { style as readStyle } from '../../../view/style.js'
import { html } from '../../../view/html.js'
import type { ErrorReport } from '../../report.js'
import { renderMarkdown } from '../render-markdown.js'

/** How the copy to take along looks. */
export const style = readStyle(import.meta.url, './style.css')

/** The report as Markdown, on the page itself: to be copied by its button, or by hand where there is no script. */
export function render (report: ErrorReport): string {
  return html`<details class="copies card"><summary><h2>This report as Markdown</h2></summary>
<pre id="as-markdown" tabindex="-1">${renderMarkdown(report)}</pre></details>`
}

/** The links to the copies; the script makes buttons of them. */
export function renderLinks (): string {
  return '<a href="#as-markdown" data-copies="as-markdown">Copy as Markdown</a> <a href="#stack-traces" data-copies="text">Copy as text</a>'
}
