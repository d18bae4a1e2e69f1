import { asset } from '../../../view/asset.js'
import { html } from '../../../view/html.js'
import type { FlattenedException } from '../../exception.js'
import { everyException } from '../shared.js'

/** How plain stack traces look. */
export const style = asset(import.meta.url, './style.css')

/** The section of stack traces: one plain text for each exception, ready to copy. */
export function render (chain: readonly FlattenedException[]): string {
  const exceptions = everyException(chain)
  return html`<section id="stack-traces" aria-labelledby="stack-traces-title">
<h2 id="stack-traces-title">Stack Traces <span class="count">${exceptions.length}</span></h2>
!${exceptions.map((exception, i) => html`<div class="trace card">
<h3><span class="position">[${i + 1}/${exceptions.length}]</span> ${exception.name}</h3>
<pre data-copy="Copy">${exception.stack || `${exception.name}: ${exception.message}`}</pre>
</div>`)}
</section>`
}
