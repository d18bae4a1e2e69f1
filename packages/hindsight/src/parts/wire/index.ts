import { formatCount, html, presentItems, type SafeHtml } from '../../view/text.js'
import { noteText, titledSection, markupTable } from '../../view/components.js'
import type { Part } from '../part.js'
import { addressOf, linesSection, listOf, type Data } from '../read.js'
import { wireRecord } from './collector.js'
import { refusedResponse } from './refused-response.js'

/** Fields of a sentence. */
const MAX_DROPPED = 5

/** What validation changed in the request, and serialization in the response. */
export const wire: Part<Data> = {
  ...wireRecord,
  fail: refusedResponse,
  panel: {
    label: 'Changed values',
    group: 'request',
    count: (data) => changesOf(data).length,
    render (data) {
      if (changesOf(data).length === 0) return noteText('No value was changed.')
      return [
        tableOf('The handler did not receive what the client sent', changesOf(data, false)),
        tableOf('The client did not receive what the handler returned', changesOf(data, true))
      ]
    }
  },
  overview (data) {
    const [first, ...others] = changesOf(data)
    if (first === undefined) return []
    const more = others.length > 0 && ` and ${formatCount(others.length, 'more', 'more')}`
    const value = html`<a href="${addressOf('wire')}">${first.text}</a>${more}`
    return [{ order: 35, title: 'Changed values', value }]
  },
  fact (data) {
    const dropped = changesOf(data, true).filter(({ schema }) => schema.endsWith('/properties'))
      .map(({ text }) => text.replace(/ was removed \(.*/, ''))
    if (dropped.length === 0) return undefined
    const more = dropped.length > MAX_DROPPED ? `, and ${dropped.length - MAX_DROPPED} more` : ''
    return `The response schema dropped ${dropped.slice(0, MAX_DROPPED).join(', ')}${more}.`
  },
  markdown (data) {
    const lines = changesOf(data).map(({ text, schema }) =>
      presentItems([text, schema !== '' && `schema ${schema}`]).join(', '))
    return linesSection(27, 'Changed values', lines)
  },
  comparison: [{ values: (data) => Object.fromEntries(changesOf(data).map(({ text }) => [text, 'yes'])) }]
}

function changesOf ({ changes }: Data, ofResponse?: boolean): Array<Record<'text' | 'schema', string>> {
  return listOf(changes).filter(({ part }) => ofResponse === undefined || ofResponse === (part === 'response'))
    .map(({ text, schema = '' }) => ({ text: String(text), schema: String(schema) }))
}

function tableOf (title: string, changes: ReturnType<typeof changesOf>): SafeHtml | false {
  const rows = changes.map(({ text, schema }) =>
    html`<tr><td class="text">${text}</td><td class="text">${schema}</td></tr>`)
  return rows.length > 0 && titledSection(title, markupTable(title, ['Change', 'Schema'], rows, 'rows'))
}
