import { html } from '../../view/html.js'
import { counted } from '../../view/counted.js'
import { visibleLine } from '../../view/visible.js'
import { configurationOf } from '../configuration.js'
import {
  fold, json, milliseconds, note, pairs, pairsSection, section, statusBadge, table
} from '../pages/components.js'
import { collectorPanel, listOf, type Data } from './panel.js'

/** The HTTP requests to other servers. */
export const httpClientPanel = collectorPanel({
  name: 'http-client',
  label: 'HTTP client',
  group: 'around',
  count: ({ count }) => typeof count === 'number' ? count : undefined,
  problem: ({ calls }) => listOf(calls).some(isFailedCall),
  render: ({ count, calls }) => {
    const shown = listOf(calls)
    if (shown.length === 0) return note('No HTTP request was sent.')
    const more = Number(count) - shown.length
    return table('Requests', ['Request', 'Status', ['Start'], ['Duration']], shown.map(callRow), 'rows') +
      (more > 0 ? note(`${counted(more, 'more was', 'more were')} only counted.`) : '')
  }
})

function isFailedCall ({ status, error }: Data): boolean {
  return error !== undefined || (typeof status === 'number' && status >= 400)
}

function callRow (call: Data, i: number): string {
  const { method, url, status, start, duration, error, requestHeaders, responseHeaders, via } = call
  const pending = html`<span class="none">${error === undefined ? 'pending' : 'none'}</span>`
  return html`<tr id="call-${i + 1}"!${isFailedCall(call) ? ' class="has-problem"' : ''}><td class="text">` +
    html`<span class="method">${String(method)}</span> <span class="url">${visibleLine(String(url))}</span>` +
    html`!${error === undefined ? '' : html`<div class="failure">${String(error)}</div>`}` +
    html`<details><summary>Headers</summary>!${pairs('Request headers', requestHeaders, 'No headers were sent.')}` +
    html`!${pairs('Response headers', responseHeaders, 'No headers were received.')}` +
    html`<p class="facts">by ${String(via)}</p></details></td>
<td>!${typeof status === 'number' ? statusBadge(status) : pending}</td>
<td class="number">${milliseconds(start)}</td><td class="number">${milliseconds(duration)}</td></tr>`
}

/** The spans of the application's own instrumentation (OpenTelemetry). */
export const spansPanel = collectorPanel({
  name: 'spans',
  label: 'Spans',
  group: 'around',
  count: ({ count }) => Number(count) || undefined,
  problem: ({ spans }) => listOf(spans).some(({ error }) => error !== undefined),
  render: ({ count, spans }) => {
    const shown = listOf(spans)
    if (shown.length === 0) return note('No span was started.')
    const more = Number(count) - shown.length
    return table('Recorded spans', ['Span', 'Kind', ['Start'], ['Duration']], shown.map(spanRow)) +
      (more > 0 ? note(`${more} more were started and are left out.`) : '')
  }
})

function spanRow (span: Data, i: number): string {
  const { name, kind, scope, start, duration, error, attributes, events, traceId, spanId, parentId } = span
  const ids = [
    `by ${String(scope || 'an unnamed tracer')}`,
    `span ${String(spanId)}`,
    ...(parentId === undefined ? [] : [`of ${String(parentId)}`]),
    `trace ${String(traceId)}`
  ].join(' · ')
  const eventList = listOf(events).map((event) => html`<p class="facts">event ${String(event.name)}</p>` +
    pairs(String(event.name), event.attributes, 'It has no attributes.'))
  return html`<tr id="span-${i + 1}"!${error === undefined ? '' : ' class="has-problem"'}><td class="text">` +
    html`<span class="function">${visibleLine(String(name))}</span>` +
    html`!${error === undefined ? '' : html`<div class="failure">${String(error) || 'failed'}</div>`}` +
    html`<details><summary>Attributes</summary>!${pairs('Attributes', attributes, 'It has none.')}!${eventList}` +
    html`<p class="facts">${ids}</p></details></td>
<td>${String(kind)}</td><td class="number">${milliseconds(start)}</td>
<td class="number">!${duration === null ? '<span class="none">pending</span>' : milliseconds(duration)}</td></tr>`
}

/** The place of the request in a distributed trace (W3C Trace Context). */
export const tracePanel = collectorPanel({
  name: 'trace',
  label: 'Trace',
  group: 'around',
  render: ({ traceId, parentId, sampled, ...others }) => pairsSection('Trace', {
    trace: traceId,
    'span of its caller': parentId,
    sampled: sampled === true ? 'yes' : 'no',
    ...others
  })
})

/** The versions, and the whole configuration while the application still runs in this process. */
export const configPanel = collectorPanel({
  name: 'config',
  label: 'Configuration',
  group: 'around',
  render: ({ id, ...summary }) => {
    const whole = configurationOf(id)
    if (whole === null) {
      return pairsSection('Versions', summary) +
        note('The rest is not stored. It is shown while the application runs in this process, unchanged.')
    }
    const { versions, hindsight, fastify, plugins } = whole
    return [
      pairsSection('Versions', { ...versions, mode: summary.mode }),
      pairsSection('Options of Hindsight', hindsight, 'All by default.'),
      pairsSection('Options of Fastify', fastify),
      section('Plugins', fold('Tree of plugins, in the order in which they were loaded', json(plugins)))
    ].join('')
  }
})
