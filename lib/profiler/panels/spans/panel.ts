import { html } from '../../../view/html.js'
import { visibleLine } from '../../../view/visible.js'
import type { Profile } from '../../profile.js'
import { failed, milliseconds, note, pairs, scrollable } from '../../pages/components.js'
import { dataOf, failureOf, listOf } from '../panel.js'
import type { Data, Panel } from '../panel.js'

/** The spans that the application's own instrumentation made (OpenTelemetry), with their attributes. */
export const spansPanel: Panel = {
  name: 'spans',
  label: 'Spans',
  group: 'around',
  count: (profile) => Number(dataOf(profile, 'spans').count) || undefined,
  problem: (profile) => failureOf(profile, 'spans') !== undefined || spansIn(profile).some(({ error }) => error !== undefined),
  render: (profile) => {
    const failure = failureOf(profile, 'spans')
    if (failure !== undefined) return failed(failure)
    const spans = spansIn(profile)
    if (spans.length === 0) return note('No span was started.')
    const left = Number(dataOf(profile, 'spans').count) - spans.length
    return scrollable('Spans of the instrumentation', html`<table aria-label="Spans of the instrumentation"><thead><tr><th scope="col">Span</th><th scope="col">Kind</th><th scope="col" class="number">Start</th><th scope="col" class="number">Duration</th></tr></thead>
<tbody>!${spans.map(row)}</tbody></table>`) + (left > 0 ? note(`${left} more were started and are left out.`) : '')
  }
}

function spansIn (profile: Profile): Data[] {
  return listOf(dataOf(profile, 'spans').spans)
}

function row (span: Data, i: number): string {
  const { name, kind, scope, start, duration, error, attributes, events, traceId, spanId, parentId } = span
  return html`<tr id="span-${i + 1}"!${error === undefined ? '' : ' class="has-problem"'}><td class="text"><span class="function">${visibleLine(String(name))}</span>!${
    error === undefined ? '' : html`<div class="failure">${String(error) || 'failed'}</div>`}<details><summary>Attributes</summary>!${
    pairs('Attributes', attributes, 'It has none.')}!${listOf(events).map((event) => html`<p class="facts">${`event ${String(event.name)}`}</p>!${pairs(String(event.name), event.attributes, 'It has no attributes.')}`)}<p class="facts">${
    [`by ${String(scope || 'an unnamed tracer')}`, `span ${String(spanId)}`, ...(parentId === undefined ? [] : [`of ${String(parentId)}`]), `trace ${String(traceId)}`].join(' · ')}</p></details></td>
<td>${String(kind)}</td><td class="number">${milliseconds(start)}</td><td class="number">!${duration === null ? '<span class="none">pending</span>' : milliseconds(duration)}</td></tr>`
}
