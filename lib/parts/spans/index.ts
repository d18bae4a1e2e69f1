import { readAsset } from '../../view/asset.js'
import { entryRow, entryTable, fold, json, pairs } from '../../view/components.js'
import { html } from '../../view/html.js'
import { addressOf, dataOf, listOf, numberOf, type Data } from '../data.js'
import type { Profile } from '../../store/profile.js'
import type { Part, TimelineEntry } from '../part.js'

/** The spans of the application's own instrumentation (OpenTelemetry). */
export const spans: Part<Data> = {
  name: 'spans',
  panel: {
    label: 'Spans',
    group: 'environment',
    problem: ({ spans }) => listOf(spans).filter(({ error }) => error !== undefined).length,
    render: ({ count, spans }) => entryTable('Recorded spans', 'Kind', listOf(spans).map(spanRow), count)
  },
  timeline: ({ spans }) => listOf(spans).map(entryOf),
  style: readAsset(import.meta.url, './style.css')
}

function entryOf ({ name, kind, start, duration, error, spanId, parentId }: Data, i: number): TimelineEntry {
  return {
    color: 'span',
    legend: 'OpenTelemetry span',
    name: String(name),
    start: Number(start),
    duration: numberOf(duration),
    failed: error !== undefined,
    detail: `${String(kind)} span${error === undefined ? '' : `, failed: ${String(error)}`}`,
    link: addressOf('spans', `span-${i + 1}`),
    id: spanId,
    parentId
  }
}

/** The span around all others; undefined where there is none. */
export function outermostSpan (profile: Profile): Data | undefined {
  const spans = listOf(dataOf(profile, 'spans').spans)
  const ids = new Set(spans.map(({ spanId }) => spanId))
  return spans.find(({ parentId }) => !ids.has(parentId))
}

function spanRow (span: Data, i: number): string {
  const { name, kind, scope, error, attributes, traceId, spanId, parentId } = span
  const details = fold('Attributes', pairs('Attributes', attributes, 'It has none.') +
    json({ tracer: scope, trace: traceId, span: spanId, parent: parentId }))
  return entryRow(`span-${i + 1}`, String(name), span, html`${String(kind)}`, details, error !== undefined)
}
