import type { EditorLink } from '../../view/editor.js'
import { style as readStyle } from '../../view/style.js'
import { KeptMarkup, type Part } from '../../view/parts.js'
import { html, text } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import type { StackFrame } from '../../errors/exception.js'
import * as excerpt from '../excerpt/excerpt.js'
import { fileName, tools } from '../exceptions/frames.js'

/** How the place looks. */
export const style = readStyle(import.meta.url, './style.css')

const rendered = new WeakMap<StackFrame, { editor: EditorLink | null, markup: KeptMarkup }>()

/** Where in the application's own code it happened, with the source in the open: what a reader wants next to the message. */
export function render (frame: StackFrame | null, editor: EditorLink | null): Part {
  if (frame?.excerpt === undefined) return ''
  const known = rendered.get(frame)
  if (known?.editor === editor) return known.markup
  const markup = new KeptMarkup(html`<div class="where card">
<h2>In your code: <span class="file">!${fileName(frame)}</span> <code class="function">!${text(visibleLine(frame.function))}</code></h2>
!${tools(frame, editor)}
!${excerpt.render(frame)}
</div>`)
  rendered.set(frame, { editor, markup })
  return markup
}
