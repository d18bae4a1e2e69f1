import type { EditorLink } from '../../view/editor.js'
import { style as readStyle } from '../../view/style.js'
import { KeptMarkup, type Part } from '../../view/parts.js'
import { html } from '../../view/html.js'
import { cut } from '../../view/visible.js'
import type { FlattenedException, StackFrame } from '../../errors/exception.js'
import { OfChain } from '../of-chain.js'
import { counted } from '../../view/counted.js'
import { renderFrames, sharedFrom } from './frames.js'

// A page of so many frames is long enough: of the exceptions behind them only own code is listed.
const MAX_FRAMES = 400
// The whole of it is part of the stack trace.
const MAX_MESSAGE = 4_000

/** How exceptions and their frames look. */
export const style = readStyle(import.meta.url, './style.css')

interface View {
  editor: EditorLink | null
  /** The frame that is shown above already. */
  culprit: StackFrame | null
  /** How many frames may still be listed one by one. */
  left: number
}

/** The section of exceptions: the chain from its root cause on, each with its frames. */
export function render (chain: readonly FlattenedException[], editor: EditorLink | null, culprit: StackFrame | null): Part[] {
  return known.get(chain, editor, () => [new KeptMarkup(renderChain(chain, editor, culprit).join(''))]) ?? renderChain(chain, editor, culprit)
}

const known = new OfChain<Part[]>()

function renderChain (chain: readonly FlattenedException[], editor: EditorLink | null, culprit: StackFrame | null): Part[] {
  const view = { editor, culprit, left: MAX_FRAMES }
  return [html`<section id="exceptions" aria-labelledby="exceptions-title">
<h2 id="exceptions-title">Exceptions <span class="count">${chain.length}</span></h2>
`, ...chain.flatMap((exception, i) => renderException(exception, position(i, chain.length), ` id="exception-${i + 1}"`, 3, view, chain[i - 1])), '\n</section>']
}

function renderException (exception: FlattenedException, position: string, id: string, level: number, view: View, before?: FlattenedException): Part[] {
  const { name, message, code, statusCode, errors = [], note, frames } = exception
  const heading = Math.min(level, 6)
  const brief = view.left < frames.length
  view.left -= frames.length
  const culprit = view.culprit !== null && frames.includes(view.culprit) ? view.culprit : null
  const end = before === undefined ? frames.length : sharedFrom(frames, before.frames)
  return [html`<article class="exception card"!${id}>
<header>
<h!${heading}><span class="position">${position}</span> <span class="name">${name}</span></h!${heading}>
!${statusCode === undefined ? '' : html`<span class="tag">status ${statusCode}</span>`}
!${code === undefined ? '' : html`<span class="tag">code ${code}</span>`}
<p class="message">${cut(message, MAX_MESSAGE)}</p>
!${note === undefined ? '' : html`<p class="note">${note}</p>`}
</header>
`, ...renderFrames(exception, { editor: view.editor, culprit, brief, end }), '\n', ...renderMembers(errors, level, view), '\n</article>']
}

function renderMembers (errors: readonly FlattenedException[][], level: number, view: View): Part[] {
  if (errors.length === 0) return []
  return [
    html`<details class="members" open><summary>${counted(errors.length, 'error')} inside</summary>\n<ol>`,
    ...errors.flatMap((chain): Part[] => ['<li>', ...chain.flatMap((member, i) => renderException(member, position(i, chain.length), '', level + 1, view, chain[i - 1])), '</li>']),
    '</ol></details>'
  ]
}

function position (index: number, length: number): string {
  return `[${index + 1}/${length}]`
}
