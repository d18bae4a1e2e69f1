import { counted } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { fields, fold, milliseconds, note, pairs, pending, statusBadge, table } from '../pages/components.js'
import {
  collectorPanel, ENTRY_PAGE, isFailedCall, isObject, listOf, onlyErrors, pageLinks, pageOf, type Data, type Panel,
  type PanelView
} from './panel.js'
import { headerTable } from './request.js'

/** What surrounds the request: other servers, traces, and the versions of the application. */
export const environmentPanels: readonly Panel[] = [
  collectorPanel('http-client', 'HTTP client', 'environment', {
    count: ({ count }) => typeof count === 'number' ? count : undefined,
    problems: ({ calls }) => {
      const failed = listOf(calls).filter(isFailedCall)
      const warnings = failed.filter(({ status }) => typeof status === 'number' && status < 500).length
      return { errors: failed.length - warnings, warnings }
    },
    render: ({ count, calls }, profile, view) => entries(CALLS, listOf(calls), count, view)
  }),

  // The spans of the application's own instrumentation (OpenTelemetry).
  collectorPanel('spans', 'Spans', 'environment', {
    count: ({ count }) => Number(count) || undefined,
    problems: ({ spans }) => onlyErrors(listOf(spans).filter(({ error }) => error !== undefined)),
    render: ({ count, spans }, profile, view) => entries(SPANS, listOf(spans), count, view)
  }),

  // The place of the request in a distributed trace (W3C Trace Context).
  collectorPanel('trace', 'Trace', 'environment', { render: (data) => fields('Trace', data) }),

  // Enough to distinguish two configurations.
  collectorPanel('config', 'Configuration', 'environment', { render: (data) => fields('Versions', data) })
]

interface Entries {
  panel: string
  label: string
  /** What the links to further pages name. */
  noun: string
  columns: readonly string[]
  row: (entry: Data, i: number) => string
}

const CALLS: Entries = {
  panel: 'http-client', label: 'Requests', noun: 'requests', columns: ['Request', 'Status'], row: callRow
}
const SPANS: Entries = {
  panel: 'spans', label: 'Recorded spans', noun: 'spans', columns: ['Span', 'Kind'], row: spanRow
}

/** A table of calls or spans; `count` is the number of all, of which the first are recorded. */
function entries (
  { panel, label, noun, columns, row }: Entries, list: readonly Data[], count: unknown, view: PanelView
): string {
  if (list.length === 0) return note('None was recorded.')
  const more = Number(count) - list.length
  const page = pageOf(list, ENTRY_PAGE, view)
  const rows = page.items.map((entry, i) => row(entry, page.first + i))
  return table(label, [...columns, ['Start'], ['Duration']], rows, 'rows') + pageLinks(panel, noun, page) +
    (more > 0 ? note(`${counted(more, 'more was', 'more were')} only counted.`) : '')
}

interface EntryMarkup {
  id: string
  failed: boolean
  title: string
  details: string
  /** The second column. */
  kind: string
}

function entryRow ({ start, duration, error }: Data, { id, failed, title, details, kind }: EntryMarkup): string {
  const failure = error === undefined ? '' : html`<div class="failure">${String(error) || 'failed'}</div>`
  return html`<tr id="${id}"!${failed ? ' class="has-problem"' : ''}>
<td class="text">!${title}!${failure}!${details}</td>
<td>!${kind}</td><td class="number">${milliseconds(start)}</td><td class="number">!${pending(duration)}</td></tr>`
}

function callRow (call: Data, i: number): string {
  const { method, url, status, error, requestHeaders, responseHeaders, via } = call
  return entryRow(call, {
    id: `call-${i + 1}`,
    failed: isFailedCall(call),
    title: html`<span class="method">${String(method)}</span> <span class="url">${visibleLine(String(url))}</span>`,
    details: profileLink(call) + fold('Headers', html`<div class="messages">` +
      headersPart('Request headers', requestHeaders) + headersPart('Response headers', responseHeaders) +
      html`</div><p class="facts">by ${String(via)}</p>`),
    kind: typeof status === 'number'
      ? statusBadge(status)
      : html`<span class="none">${error === undefined ? 'pending' : 'none'}</span>`
  })
}

function headersPart (title: string, headers: unknown): string {
  return html`<div class="message-part"><h4>${title}</h4>!${headerTable(title, headers)}</div>`
}

/** The link to the profile of the server that was called, if it names one of its own origin. */
function profileLink ({ url, responseHeaders }: Data): string {
  const link = isObject(responseHeaders) ? responseHeaders['x-debug-token-link'] : undefined
  if (typeof link !== 'string' || !URL.canParse(link) || !URL.canParse(String(url))) return ''
  const { protocol, origin, pathname, username, password, search } = new URL(link)
  const isProfile = /^https?:$/.test(protocol) && /\/_profiler\/[0-9a-f]{6}$/.test(pathname) && search === '' &&
    username === '' && password === '' && origin === new URL(String(url)).origin
  return isProfile ? html`<div><a href="${link}">Profile ${pathname.slice(-6)} of the called server</a></div>` : ''
}

function spanRow (span: Data, i: number): string {
  const { name, kind, scope, error, attributes, traceId, spanId, parentId } = span
  const parent = parentId === undefined ? '' : ` · of ${String(parentId)}`
  const tracer = String(scope || 'an unnamed tracer')
  const ids = `by ${tracer} · span ${String(spanId)}${parent} · trace ${String(traceId)}`
  return entryRow(span, {
    id: `span-${i + 1}`,
    failed: error !== undefined,
    title: html`<span class="function">${visibleLine(String(name))}</span>`,
    details: fold('Attributes', pairs('Attributes', attributes, 'It has none.') + html`<p class="facts">${ids}</p>`),
    kind: html`${String(kind)}`
  })
}
