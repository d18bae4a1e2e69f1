import type { CodeExcerpt, FlattenedException, StackFrame } from '../../../diagnostics/exception.js'
import { html } from '../../../view/html.js'
import { note } from '../../ui/components.js'
import type { Panel } from '../panel.js'

/** What was raised, from the root cause to the error that the response was about. */
export const exceptionsPanel: Panel = {
  name: 'exceptions',
  label: 'Exceptions',
  count: profile => profile.exceptions.length,
  problem: profile => profile.exceptions.length > 0,
  render: profile => profile.exceptions.length === 0 ? note('Nothing was raised.') : chain(profile.exceptions)
}

function chain (exceptions: FlattenedException[]): string {
  return exceptions.map((exception, i) => box(exception, `[${i + 1}/${exceptions.length}]`)).join('')
}

function box (exception: FlattenedException, place: string): string {
  const frames = exception.frames ?? []
  const own = frames.findIndex(frame => frame.own)
  return html`<article class="exception">
<h3><span class="place">${place}</span> ${exception.name}</h3>
<p class="message">${exception.message || '(no message)'}</p>
!${facts(exception)}
!${frames.length === 0
  ? note('The stack is not known.')
  : html`<ol class="frames">!${frames.map((item, i) => frame(item, i === own))}</ol>`}
!${(exception.errors ?? []).map((errors, i) =>
  html`<details open><summary>Error ${i + 1} of ${exception.errors?.length}</summary>!${chain(errors)}</details>`)}
!${exception.stack ? html`<details><summary>Stack as text</summary><pre class="data">${exception.stack}</pre></details>` : ''}
</article>`
}

function facts ({ code, statusCode }: FlattenedException): string {
  const all = [code !== undefined && `code ${code}`, statusCode !== undefined && `status ${statusCode}`].filter(Boolean)
  return all.length === 0 ? '' : html`<p class="facts">${all.join(' · ')}</p>`
}

function frame (frame: StackFrame, open: boolean): string {
  const place = [frame.file || '(unknown place)', frame.line || null, frame.line && frame.column ? frame.column : null]
    .filter(part => part !== null).join(':')
  const head = html`<span class="function">${frame.function || '(anonymous)'}</span> <span class="file">${place}</span>`
  if (frame.excerpt === undefined) return html`<li class="${frame.own ? 'own' : 'foreign'}">!${head}</li>`
  return html`<li class="${frame.own ? 'own' : 'foreign'}"><details!${open ? ' open' : ''}><summary>!${head}</summary>!${source(frame.excerpt, frame.line)}</details></li>`
}

function source ({ start, lines }: CodeExcerpt, marked: number): string {
  return html`<ol class="source" start="${start}">!${lines.map((line, i) => start + i === marked
    ? html`<li value="${start + i}" class="marked"><mark><code>${line || ' '}</code></mark></li>`
    : html`<li value="${start + i}"><code>${line || ' '}</code></li>`)}</ol>`
}
