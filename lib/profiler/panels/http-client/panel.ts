import { html } from '../../../view/html.js'
import { visibleLine } from '../../../view/visible.js'
import { failed, milliseconds, note, pairs, scrollable, statusBadge } from '../../pages/components.js'
import { dataOf, failureOf, listOf } from '../panel.js'
import type { Data, Panel } from '../panel.js'
import { counted } from '../../../view/counted.js'

/** What was asked of other servers while the request was handled. */
export const httpClientPanel: Panel = {
  name: 'http-client',
  label: 'HTTP client',
  group: 'around',
  count: profile => {
    const { count } = dataOf(profile, 'http-client')
    return typeof count === 'number' ? count : undefined
  },
  problem: profile => failureOf(profile, 'http-client') !== undefined || listOf(dataOf(profile, 'http-client').calls).some(isProblem),
  render: profile => {
    const failure = failureOf(profile, 'http-client')
    if (failure !== undefined) return failed(failure)
    const { count, calls } = dataOf(profile, 'http-client')
    const shown = listOf(calls)
    if (shown.length === 0) return note('No HTTP request was sent.')
    const more = Number(count) - shown.length
    return scrollable('Requests', html`<table class="rows" aria-label="Requests"><thead><tr>
<th scope="col">Request</th><th scope="col">Status</th><th scope="col" class="number">Start</th><th scope="col" class="number">Duration</th>
</tr></thead><tbody>!${shown.map(row)}</tbody></table>`) + (more > 0 ? note(`${counted(more, 'more was', 'more were')} only counted.`) : '')
  }
}

function isProblem ({ status, error }: Data): boolean {
  return error !== undefined || (typeof status === 'number' && status >= 400)
}

function row (call: Data, i: number): string {
  const { method, url, status, start, duration, error, requestHeaders, responseHeaders, via } = call
  return html`<tr id="call-${i + 1}"!${isProblem(call) ? ' class="has-problem"' : ''}><td class="text"><span class="method">${String(method)}</span> <span class="url">${visibleLine(String(url))}</span>!${
    error === undefined ? '' : html`<div class="failure">${String(error)}</div>`}<details><summary>Headers</summary>!${
    pairs('Request headers', requestHeaders, 'No headers were sent.')}!${pairs('Response headers', responseHeaders, 'No headers came back.')}<p class="facts">by ${String(via)}</p></details></td>
<td>!${typeof status === 'number' ? statusBadge(status) : html`<span class="none">${error === undefined ? 'pending' : 'none'}</span>`}</td>
<td class="number">${milliseconds(start)}</td><td class="number">${milliseconds(duration)}</td></tr>`
}
