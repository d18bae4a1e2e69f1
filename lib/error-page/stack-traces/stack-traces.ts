import { style as readStyle } from '../../view/style.js'
import { html, text } from '../../view/html.js'
import { KeptMarkup, type Part } from '../../view/parts.js'
import { cut } from '../../view/visible.js'
import type { FlattenedException } from '../../errors/exception.js'
import { OfChain } from '../of-chain.js'
import { everyException } from '../shared.js'

/** How plain stack traces look. */
export const style = readStyle(import.meta.url, './style.css')

// So many characters of stacks a page carries in full; those behind them are cut short.
const MAX_TEXT = 200_000
const SHORT = 2_000

/** The section of stack traces: one plain text for each exception, ready to copy; that of the error itself is open. */
export function render (chain: readonly FlattenedException[]): Part[] {
  return known.get(chain, null, () => [new KeptMarkup(renderChain(chain).join(''))]) ?? renderChain(chain)
}

const known = new OfChain<Part[]>()

function renderChain (chain: readonly FlattenedException[]): Part[] {
  const exceptions = everyException(chain)
  let left = MAX_TEXT
  return [html`<section id="stack-traces" aria-labelledby="stack-traces-title">
<h2 id="stack-traces-title">Stack Traces <span class="count">${exceptions.length}</span></h2>
`, ...exceptions.flatMap((exception, i): Part[] => {
    const stack = exception.stack || `${exception.name}: ${exception.message}`
    left -= stack.length
    return [html`<details class="trace card"!${i === exceptions.length - 1 ? ' open' : ''}>
<summary><h3><span class="position">[${i + 1}/${exceptions.length}]</span> ${exception.name}</h3></summary>
<pre data-copy="Copy">`, text(left > 0 ? stack : cut(stack, SHORT)), '</pre>\n</details>']
  }), '\n</section>']
}
