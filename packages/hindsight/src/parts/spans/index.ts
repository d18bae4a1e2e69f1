import { entryRow, entryTable, foldedContent, jsonBlock, noteText, pairsTable } from '../../view/components.js'
import { formatCount, presentItems, type SafeHtml } from '../../view/text.js'
import type { Part, TimelineEntry } from '../part.js'
import { addressOf, listOf, numberOf, type Data } from '../read.js'
import { recordedSpans } from './span-processor.js'

export const spans: Part<Data> = {
  ...recordedSpans,
  panel: {
    label: 'Spans',
    group: 'timeline',
    problem: ({ spans }) => listOf(spans).filter((span) => isShownHere(span) && span.error !== undefined).length,
    render ({ count, spans }, { duration }) {
      const all = listOf(spans)
      const rows = presentItems(all.map((span, i) => isShownHere(span) && spanRow(span, i, duration)))
      const others = all.length - rows.length
      const omitted = formatCount(others, 'span of an operation is', 'spans of operations are')
      const omission = `${omitted} shown in other panels.`
      return [
        others > 0 && noteText(omission),
        (others === 0 || rows.length > 0) && entryTable('Recorded spans', 'Kind', rows, Number(count) - others)
      ]
    }
  },
  timeline: ({ spans }) => presentItems(listOf(spans).map((span, i) => isShownHere(span) && entryOf(span, i))),
  style: '.bar-span { fill: light-dark(#4a6a1e, #a9cf6b) }\n'
}

// What another part has recorded, too, is shown once.
function isShownHere ({ shownAs }: Data): boolean {
  return shownAs === undefined
}

function entryOf ({ name, kind, start, duration, error, spanId, parentId, hook }: Data, i: number): TimelineEntry {
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
    parentId,
    hook: numberOf(hook)
  }
}

function spanRow (span: Data, i: number, total: number): SafeHtml {
  const { name, kind, scope, error, attributes, traceId, spanId, parentId } = span
  const details = foldedContent('Attributes', [
    pairsTable('Attributes', attributes, 'It has none.'),
    jsonBlock({ tracer: scope, trace: traceId, span: spanId, parent: parentId })
  ])
  return entryRow(`span-${i + 1}`, String(name), span, String(kind), details,
    { isFailed: error !== undefined, total, color: 'span' })
}
