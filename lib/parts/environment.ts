import { counted } from '../view/counted.js'
import { html } from '../view/html.js'
import { visibleLine } from '../view/visible.js'
import {
  fields, fold, json, milliseconds, note, pairs, pairsSection, pending, rowsSection, statusBadge, table
} from '../view/components.js'
import { createPanel, isFailedCall, listOf, type Data, type Panel } from './part.js'

const LINK_COLUMNS = { rel: 'Relation', href: 'Target', attributes: 'Attributes' }

/** The panels of the HTTP cache, links, assets, outgoing requests, spans, the trace and the configuration. */
export const environmentPanels: readonly Panel[] = [
  createPanel('cache', 'HTTP cache', 'delivery', { render: (data) => fields('Decision', data) }),

  createPanel('links', 'Links', 'delivery', {
    render: ({ route, added }) =>
      rowsSection('Declared by the route', LINK_COLUMNS, listOf(route)) +
      rowsSection('Added while the request was handled', LINK_COLUMNS, listOf(added))
  }),

  createPanel('assets', 'Assets', 'delivery', {
    // A rendered asset is stored as its kind and its file.
    render: ({ rendered, ...source }) =>
      pairsSection('Rendered', { files: rendered ?? [] }) + fields('Source', source)
  }),

  createPanel('http-client', 'HTTP client', 'environment', {
    errors: ({ calls }) => listOf(calls).filter(isFailedCall).length,
    render: ({ count, calls }) => entryTable('Requests', 'Status', listOf(calls).map(callRow), count)
  }),

  // The spans of the application's own instrumentation (OpenTelemetry).
  createPanel('spans', 'Spans', 'environment', {
    errors: ({ spans }) => listOf(spans).filter(({ error }) => error !== undefined).length,
    render: ({ count, spans }) => entryTable('Recorded spans', 'Kind', listOf(spans).map(spanRow), count)
  }),

  // The place of the request in a distributed trace (W3C Trace Context).
  createPanel('trace', 'Trace', 'environment', { render: (data) => fields('Trace', data) }),

  // Versions, and a hash of the options.
  createPanel('config', 'Configuration', 'environment', { render: (data) => fields('Versions', data) })
]

/** A table of calls or spans; `count` is the number of all, of which the first are recorded. */
function entryTable (label: string, second: string, rows: readonly string[], count: unknown): string {
  if (rows.length === 0) return note('None was recorded.')
  const more = Number(count) - rows.length
  return table(label, ['Name', second, ['Start'], ['Duration']], rows, 'rows') +
    (more > 0 ? note(`${counted(more, 'more was', 'more were')} only counted.`) : '')
}

/** `second` is the markup of the second column. */
function entryRow (
  id: string, name: string, { start, duration, error }: Data, second: string, details: string, isFailed: boolean
): string {
  const failure = error === undefined ? '' : html`<div class="failure">${String(error) || 'failed'}</div>`
  return html`<tr id="${id}"!${isFailed ? ' class="has-problem"' : ''}>
<td class="text">${visibleLine(name)}!${failure}!${details}</td>
<td>!${second}</td><td class="number">${milliseconds(start)}</td><td class="number">!${pending(duration)}</td></tr>`
}

function callRow (call: Data, i: number): string {
  const { method, url, status, error, requestHeaders, responseHeaders } = call
  const badge = typeof status === 'number'
    ? statusBadge(status)
    : html`<span class="none">${error === undefined ? 'pending' : 'none'}</span>`
  const details = fold('Headers', json({ request: requestHeaders, response: responseHeaders }))
  return entryRow(`call-${i + 1}`, `${String(method)} ${String(url)}`, call, badge, details, isFailedCall(call))
}

function spanRow (span: Data, i: number): string {
  const { name, kind, scope, error, attributes, traceId, spanId, parentId } = span
  const details = fold('Attributes', pairs('Attributes', attributes, 'It has none.') +
    json({ tracer: scope, trace: traceId, span: spanId, parent: parentId }))
  return entryRow(`span-${i + 1}`, String(name), span, html`${String(kind)}`, details, error !== undefined)
}
