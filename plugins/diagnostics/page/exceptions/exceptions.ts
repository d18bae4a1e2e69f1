import { asset } from '../../../view/asset.js'
import { html } from '../../../view/html.js'
import type { FlattenedException } from '../../exception.js'
import { renderFrames } from './frames.js'

/** How exceptions and their frames look. */
export const style = asset(import.meta.url, './style.css')

/** The section of exceptions: the chain from its root cause on, each with its frames. */
export function render (chain: readonly FlattenedException[]): string {
  return html`<section id="exceptions" aria-labelledby="exceptions-title">
<h2 id="exceptions-title">Exceptions <span class="count">${chain.length}</span></h2>
!${chain.map((exception, i) => renderException(exception, position(i, chain.length), html`id="exception-${i + 1}"`, 3))}
</section>`
}

function renderException (exception: FlattenedException, position: string, id: string, level: number): string {
  const { name, message, code, statusCode, errors = [], note } = exception
  const heading = Math.min(level, 6)
  return html`<article class="exception card" !${id}>
<header>
<h${heading}><span class="position">${position}</span> <span class="name">${name}</span></h${heading}>
!${statusCode === undefined ? '' : html`<span class="tag">status ${statusCode}</span>`}
!${code === undefined ? '' : html`<span class="tag">code ${code}</span>`}
<p class="message">${message}</p>
!${note === undefined ? '' : html`<p class="note">${note}</p>`}
</header>
!${renderFrames(exception)}
!${errors.length === 0 ? '' : renderMembers(errors, level)}
</article>`
}

function renderMembers (errors: readonly FlattenedException[][], level: number): string {
  return html`<details class="members" open><summary>${errors.length} ${errors.length === 1 ? 'error' : 'errors'} inside</summary>
<ol>!${errors.map((chain) => html`<li>!${chain.map((member, i) => renderException(member, position(i, chain.length), '', level + 1))}</li>`)}</ol></details>`
}

function position (index: number, length: number): string {
  return `[${index + 1}/${length}]`
}
