import { asset } from '../../../view/asset.js'
import { html } from '../../../view/html.js'
import type { Hint } from '../../report.js'

/** How hints look. */
export const style = asset(import.meta.url, './style.css')

/** What helps to mend the failure, right under the headline. */
export function render (hints: readonly Hint[]): string {
  if (hints.length === 0) return ''
  return html`<div class="hints">!${hints.map((hint) => html`<div class="hint card">
<h2>${hint.title}</h2>
<p>${hint.text}</p>
!${hint.code === undefined ? '' : html`<pre data-copy="Copy"><code>${hint.code}</code></pre>`}
</div>`)}</div>`
}
