import { formatCount, html, presentItems, type SafeHtml } from '../../view/text.js'
import { noteText, titledSection, markupTable } from '../../view/components.js'
import { isOneFailed } from '../pairing.js'
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
        tableOf('The handler did not receive what the client sent', ['Sent', 'Received'], changesOf(data, false)),
        tableOf('The client did not receive what the handler returned', ['Returned', 'Sent'], changesOf(data, true))
      ]
    }
  },
  overview (data) {
    const [first, ...others] = changesOf(data)
    if (first === undefined) return []
    const more = others.length > 0 && ` and ${formatCount(others.length, 'more change')}`
    const value = html`<a href="${addressOf('wire')}">${first.text}</a>${more}`
    return [{ order: 35, title: 'Changed values', value }]
  },
  fact (data) {
    const dropped = changesOf(data, true).filter(({ schema }) => schema.endsWith('/properties'))
      .map(({ text }) => text.replace(/ was removed \(.*/, ''))
    if (dropped.length === 0) return undefined
    const left = dropped.length - MAX_DROPPED
    const more = left > 0 ? `, and ${formatCount(left, 'more field')}` : ''
    return `The response schema dropped ${dropped.slice(0, MAX_DROPPED).join(', ')}${more}.`
  },
  markdown (data) {
    const lines = changesOf(data).map(({ text, schema }) =>
      presentItems([text, schema !== '' && `schema ${schema}`]).join(', '))
    return linesSection(27, 'Changed values', lines)
  },
  comparison: [{
    values (data, profile, other) {
      // Nothing was changed of a request that the validation refused, and no payload was serialized.
      if (isOneFailed(profile, other)) return {}
      return Object.fromEntries(changesOf(data).map(({ text }) => [text, 'yes']))
    }
  }]
}

type ShownChange = Record<'text' | 'schema', string> & Partial<Record<'field' | 'before' | 'after' | 'rule', string>>

function changesOf ({ changes }: Data, ofResponse?: boolean): ShownChange[] {
  return listOf(changes).filter(({ part }) => ofResponse === undefined || ofResponse === (part === 'response'))
    .map(({ text, schema = '', ...others }) => ({ ...others, text: String(text), schema: String(schema) }))
}

function tableOf (
  title: string, [first, second]: readonly [string, string], changes: readonly ShownChange[]
): SafeHtml | false {
  const side = (label: string, text: string | undefined, other: string): SafeHtml =>
    html`<td class="text" data-label="${label}">${text ?? html`<span class="none">${other}</span>`}</td>`
  const rows = changes.map(({ text, field, before, after, rule, schema }) => {
    // Of a response that could not be serialized.
    if (field === undefined) return html`<tr><td class="text" colspan="4">${text} <small>${schema}</small></td></tr>`
    return html`<tr><th scope="row">${field}</th>${side(first, before, 'absent')}${side(second, after, 'removed')}\
<td class="text" data-label="By">${rule} <small>${schema}</small></td></tr>`
  })
  return rows.length > 0 && titledSection(title, markupTable(title, ['Value', first, second, 'By'], rows, 'sides'))
}
