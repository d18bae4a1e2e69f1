import type { FlattenedException, StackFrame } from '../../../errors/exception.js'
import * as excerpt from '../../../error-page/excerpt.js'
import type { EditorLink } from '../../../view/editor.js'
import { html } from '../../../view/html.js'
import { style as readStyle } from '../../../view/asset.js'
import { visibleLine } from '../../../view/visible.js'
import { note } from '../../pages/components.js'
import { PLAIN_VIEW } from '../panel.js'
import type { Panel, PanelView } from '../panel.js'
import { counted } from '../../../view/counted.js'

/** What was raised, from the root cause to the error that the response was about. */
export const exceptionsPanel: Panel = {
  name: 'exceptions',
  label: 'Exceptions',
  group: 'overview',
  always: true,
  count: (profile) => profile.exceptions.length,
  problem: (profile) => profile.exceptions.length > 0,
  style: excerpt.style + readStyle(import.meta.url, './style.css'),
  render: (profile, view = PLAIN_VIEW) => profile.exceptions.length === 0 ? note('Nothing was raised.') : exceptionsMarkup(profile.exceptions, view)
}

/** A chain of exceptions, root cause first; `level` is that of its headings. */
export function exceptionsMarkup (exceptions: readonly FlattenedException[], view: PanelView, level = 3): string {
  return exceptions.map((exception, i) => box(exception, `[${i + 1}/${exceptions.length}]`, view, level)).join('')
}

function box (exception: FlattenedException, place: string, view: PanelView, level: number): string {
  const { name, message, note: remark, stack, errors = [], framesDropped } = exception
  const frames = exception.frames ?? []
  return html`<article class="exception">
<h!${level}><span class="place">${place}</span> ${visibleLine(name)}</h!${level}>
<p class="message">${message || '(no message)'}</p>
!${facts(exception)}!${remark === undefined ? '' : note(remark)}
!${frames.length === 0 ? note('The stack is not known.') : framesMarkup(frames, view.editor)}
!${framesDropped ? note(`${framesDropped} more frames were left out.`) : ''}
!${errors.map((chain, i) => html`<details open><summary>Error ${i + 1} of ${errors.length}</summary>!${exceptionsMarkup(chain, view, Math.min(level + 1, 6))}</details>`)}
!${stack ? html`<details><summary>Stack as text</summary><pre class="data">${stack}</pre></details>` : ''}
</article>`
}

function facts ({ code, statusCode }: FlattenedException): string {
  const all = [code !== undefined && `code ${code}`, statusCode !== undefined && `status ${statusCode}`].filter(Boolean)
  return all.length === 0 ? '' : html`<p class="facts">${all.join(' · ')}</p>`
}

// Own code stands in the open, what lies between is folded with its number.
function framesMarkup (frames: readonly StackFrame[], editor: EditorLink | null): string {
  const open = frames.findIndex((frame) => frame.own && frame.excerpt !== undefined)
  const groups: Array<{ own: boolean, items: string[] }> = []
  frames.forEach((frame, i) => {
    const markup = html`<li class="${frame.own ? 'own' : 'foreign'}">!${frameMarkup(frame, i === open, editor)}</li>`
    const last = groups.at(-1)
    if (last !== undefined && last.own === frame.own) last.items.push(markup)
    else groups.push({ own: frame.own, items: [markup] })
  })
  return html`<ol class="frames">!${groups.map(({ own, items }) => own
    ? items.join('')
    : html`<li class="foreign"><details><summary>${counted(items.length, 'frame')} outside your code</summary><ol>!${items}</ol></details></li>`)}</ol>`
}

function frameMarkup (frame: StackFrame, open: boolean, editor: EditorLink | null): string {
  const place = [frame.file || '(unknown place)', frame.line || null, frame.line && frame.column ? frame.column : null].filter((part) => part !== null).join(':')
  const href = editor?.(frame.file, frame.line, frame.column) ?? null
  const head = html`<span class="function">${visibleLine(frame.function || '(anonymous)')}</span> <span class="file">${visibleLine(place)}</span>`
  const link = href === null ? '' : html` <a class="editor" href="${href}">open in editor</a>`
  if (frame.excerpt === undefined) return head + link
  return html`<details!${open ? ' open' : ''}><summary>!${head}</summary>!${link}!${excerpt.render(frame)}</details>`
}
