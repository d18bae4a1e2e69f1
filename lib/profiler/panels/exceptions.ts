import * as excerpt from '../../error-page/excerpt.js'
import type { FlattenedException, StackFrame } from '../../errors/exception.js'
import type { EditorLink } from '../../view/editor.js'
import { counted } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { note, section } from '../pages/components.js'
import { collectorPanel, onlyErrors, PLAIN_VIEW, runsOf, type Panel, type PanelView } from './panel.js'

/** The exceptions of the response, from the root cause to the last. */
export const exceptionsPanel: Panel = {
  name: 'exceptions',
  label: 'Exceptions',
  group: 'overview',
  always: true,
  count: (profile) => profile.exceptions.length,
  problems: (profile) => onlyErrors(profile.exceptions),
  render: ({ exceptions }, view = PLAIN_VIEW) =>
    exceptions.length === 0 ? note('No exceptions.') : exceptionsMarkup(exceptions, view)
}

/** Further errors: raised after the response began, in an error handler, or caught by a framework. */
export const otherErrorsPanel: Panel = collectorPanel('otherErrors', 'Other errors', 'overview', {
  count: (_, { collectors: { otherErrors } }) => Array.isArray(otherErrors) ? otherErrors.length : undefined,
  problems: (_, { collectors: { otherErrors } }) => onlyErrors([otherErrors ?? []].flat()),
  render: (_, { collectors: { otherErrors } }, view) => {
    const chains = [otherErrors].flat().filter(Array.isArray) as FlattenedException[][]
    if (chains.length === 0) return note('No other error was raised.')
    return note('Raised besides the first error, after the response began, or caught by a framework.') +
      chains.map((chain, i) => section(`Error ${i + 1} of ${chains.length}`, exceptionsMarkup(chain, view, 4))).join('')
  }
})

/** A chain of exceptions, root cause first; `level` is the level of the headings. */
function exceptionsMarkup (exceptions: readonly FlattenedException[], view: PanelView, level = 3): string {
  return exceptions.map((exception, i) => {
    const { name, message, note: remark, stack, code, statusCode, frames = [], errors = [], framesDropped } = exception
    const facts = [code !== undefined && `code ${code}`, statusCode !== undefined && `status ${statusCode}`]
      .filter(Boolean).join(' · ')
    return html`<article class="exception">
<h!${level}><span class="place">[${i + 1}/${exceptions.length}]</span> ${visibleLine(name)}</h!${level}>
<p class="message">${message || '(no message)'}</p>
!${facts === '' ? '' : html`<p class="facts">${facts}</p>`}!${remark === undefined ? '' : note(remark)}
!${frames.length === 0 ? note('No stack trace available.') : framesMarkup(frames, view.editor)}
!${framesDropped ? note(`${framesDropped} more frames were left out.`) : ''}
!${errors.map((chain, i) => html`<details open><summary>Error ${i + 1} of ${errors.length}</summary>!${
  exceptionsMarkup(chain, view, Math.min(level + 1, 6))}</details>`)}
!${stack ? html`<details><summary>Stack as text</summary><pre class="data">${stack}</pre></details>` : ''}
</article>`
  }).join('')
}

// Frames of dependencies are folded in groups between the frames of the application.
function framesMarkup (frames: readonly StackFrame[], editor: EditorLink | null): string {
  const open = frames.find((frame) => frame.own && frame.excerpt !== undefined)
  const groups = runsOf(frames, ({ own }) => own).map((run) => {
    const isOwn = run[0]?.own === true
    const items = run.map((frame) =>
      html`<li class="${isOwn ? 'own' : 'vendor'}">!${frameMarkup(frame, frame === open, editor)}</li>`)
    if (isOwn) return items.join('')
    const title = counted(items.length, 'vendor frame')
    return html`<li class="vendor"><details><summary>${title}</summary><ol>!${items}</ol></details></li>`
  })
  return html`<ol class="frames">!${groups}</ol>`
}

function frameMarkup (frame: StackFrame, open: boolean, editor: EditorLink | null): string {
  const { file, line, column } = frame
  const place = [file || '(unknown file)', ...(line ? [line, ...(column ? [column] : [])] : [])].join(':')
  const href = editor?.(file, line, column) ?? null
  const name = visibleLine(frame.function || '(anonymous)')
  const head = html`<span class="function">${name}</span> <span class="file">${visibleLine(place)}</span>`
  const link = href === null ? '' : html` <a class="editor" href="${href}">open in editor</a>`
  if (frame.excerpt === undefined) return head + link
  return html`<details!${open ? ' open' : ''}><summary>!${head}</summary>!${link}!${excerpt.render(frame)}</details>`
}
