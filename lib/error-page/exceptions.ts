import type { FlattenedException } from '../errors/exception.js'
import { counted } from '../view/counted.js'
import { html } from '../view/html.js'
import { cut } from '../view/visible.js'
import { renderFrames, type FramesView } from './frames.js'
import { everyException } from './shared.js'

/** Characters; the whole message is in the stack trace. */
const MAX_MESSAGE = 4_000
/** Characters of all stack traces in full; those after it are cut to MAX_STACK. */
const MAX_STACKS = 200_000
const MAX_STACK = 2_000

/** The section Exceptions: the chain, root cause first, each with its frames. */
export function renderExceptions (chain: readonly FlattenedException[], view: FramesView): string {
  return html`<section id="exceptions" aria-labelledby="exceptions-title">
<h2 id="exceptions-title">Exceptions <span class="count">${chain.length}</span></h2>
!${renderChain(chain, view, 3)}
</section>`
}

function renderChain (chain: readonly FlattenedException[], view: FramesView, level: number): string {
  return chain.map((exception, i) => {
    const { name, message, code, statusCode, errors = [], note, frames } = exception
    const shown = { ...view, culprit: view.culprit !== null && frames.includes(view.culprit) ? view.culprit : null }
    const heading = `h${Math.min(level, 6)}`
    return html`<article class="exception card"!${level === 3 ? ` id="exception-${i + 1}"` : ''}>
<header>
<!${heading}><span class="position">[${i + 1}/${chain.length}]</span> <span class="name">${name}</span></!${heading}>
!${statusCode === undefined ? '' : html`<span class="tag">status ${statusCode}</span>`}
!${code === undefined ? '' : html`<span class="tag">code ${code}</span>`}
<p class="message">${cut(message, MAX_MESSAGE)}</p>
!${note === undefined ? '' : html`<p class="note">${note}</p>`}
</header>
!${renderFrames(exception, chain[i - 1], shown)}
!${errors.length === 0 ? '' : renderMembers(errors, view, level + 1)}
</article>`
  }).join('')
}

function renderMembers (errors: readonly FlattenedException[][], view: FramesView, level: number): string {
  return html`<details class="members" open><summary>${counted(errors.length, 'error')} inside</summary>
<ol>!${errors.map((chain) => `<li>${renderChain(chain, view, level)}</li>`)}</ol></details>`
}

/** The section Stack Traces: one plain text for each exception; that of the error itself is unfolded. */
export function renderStackTraces (chain: readonly FlattenedException[]): string {
  const exceptions = everyException(chain)
  let left = MAX_STACKS
  const traces = exceptions.map((exception, i) => {
    const stack = exception.stack || `${exception.name}: ${exception.message}`
    left -= stack.length
    return html`<details class="trace card"!${i === exceptions.length - 1 ? ' open' : ''}>
<summary><h3><span class="position">[${i + 1}/${exceptions.length}]</span> ${exception.name}</h3></summary>
<pre data-copy="Copy">${left > 0 ? stack : cut(stack, MAX_STACK)}</pre>
</details>`
  })
  return html`<section id="stack-traces" aria-labelledby="stack-traces-title">
<h2 id="stack-traces-title">Stack Traces <span class="count">${exceptions.length}</span></h2>
!${traces}
</section>`
}
