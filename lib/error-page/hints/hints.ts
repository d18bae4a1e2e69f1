import { style as readStyle } from '../../view/style.js'
import { html } from '../../view/html.js'
import type { Hint } from '../../errors/report.js'

/** How hints look. */
export const style = readStyle(import.meta.url, './style.css')

/** What helps to mend the failure, right under the headline. */
export function render (hints: readonly Hint[]): string {
  if (hints.length === 0) return ''
  return html`<div class="hints">!${hints.map((hint) => html`<div class="hint card">
<h2>${hint.title}</h2>
<p>${hint.text}</p>
!${hint.routes === undefined ? '' : routes(hint.routes)}
!${hint.code === undefined ? '' : html`<pre data-copy="Copy"><code>${hint.code}</code></pre>`}
</div>`)}</div>`
}

function routes (near: NonNullable<Hint['routes']>): string {
  return html`<ul class="routes">!${near.map(({ methods, pattern, why }) => html`<li><code><b>${methods.join(', ')}</b> ${pattern}</code> <span>${why}</span></li>`)}</ul>`
}
