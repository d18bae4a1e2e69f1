import { counted } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { fields, fold, json, milliseconds, note, pairs, pending, statusBadge, table } from '../pages/components.js'
import { collectorPanel, isFailedCall, listOf, onlyErrors, type Data, type Panel } from './panel.js'

/** What surrounds the request: other servers, traces, and the versions of the application. */
export const environmentPanels: readonly Panel[] = [
  collectorPanel('http-client', 'HTTP client', 'environment', {
    problems: ({ calls }) => {
      const failed = listOf(calls).filter(isFailedCall)
      const warnings = failed.filter(({ status }) => typeof status === 'number' && status < 500).length
      return { errors: failed.length - warnings, warnings }
    },
    render: ({ count, calls }) => entryTable('Requests', 'Status', listOf(calls).map(callRow), count)
  }),

  // The spans of the application's own instrumentation (OpenTelemetry).
  collectorPanel('spans', 'Spans', 'environment', {
    problems: ({ spans }) => onlyErrors(listOf(spans).filter(({ error }) => error !== undefined).length),
    render: ({ count, spans }) => entryTable('Recorded spans', 'Kind', listOf(spans).map(spanRow), count)
  }),

  // The place of the request in a distributed trace (W3C Trace Context).
  collectorPanel('trace', 'Trace', 'environment', { render: (data) => fields('Trace', data) }),

  // Enough to distinguish two configurations.
  collectorPanel('config', 'Configuration', 'environment', { render: (data) => fields('Versions', data) })
]

/** A table of calls or spans; `count` is the number of all, of which the first are recorded. */
function entryTable (label: string, second: string, rows: readonly string[], count: unknown): string {
  if (rows.length === 0) return note('None was recorded.')
  const more = Number(count) - rows.length
  return table(label, ['Name', second, ['Start'], ['Duration']], rows, 'rows') +
    (more > 0 ? note(`${counted(more, 'more was', 'more were')} only counted.`) : '')
}

interface EntryMarkup {
  id: string
  failed: boolean
  name: string
  details: string
  /** The second column. */
  kind: string
}

function entryRow ({ start, duration, error }: Data, { id, failed, name, details, kind }: EntryMarkup): string {
  const failure = error === undefined ? '' : html`<div class="failure">${String(error) || 'failed'}</div>`
  return html`<tr id="${id}"!${failed ? ' class="has-problem"' : ''}>
<td class="text">${visibleLine(name)}!${failure}!${details}</td>
<td>!${kind}</td><td class="number">${milliseconds(start)}</td><td class="number">!${pending(duration)}</td></tr>`
}

function callRow (call: Data, i: number): string {
  const { method, url, status, error, requestHeaders, responseHeaders } = call
  const kind = error === undefined ? 'pending' : 'none'
  return entryRow(call, {
    id: `call-${i + 1}`,
    failed: isFailedCall(call),
    name: `${String(method)} ${String(url)}`,
    details: fold('Headers', json({ request: requestHeaders, response: responseHeaders })),
    kind: typeof status === 'number' ? statusBadge(status) : html`<span class="none">${kind}</span>`
  })
}

function spanRow (span: Data, i: number): string {
  const { name, kind, scope, error, attributes, traceId, spanId, parentId } = span
  return entryRow(span, {
    id: `span-${i + 1}`,
    failed: error !== undefined,
    name: String(name),
    details: fold('Attributes', pairs('Attributes', attributes, 'It has none.') +
      json({ tracer: scope, trace: traceId, span: spanId, parent: parentId })),
    kind: html`${String(kind)}`
  })
}
