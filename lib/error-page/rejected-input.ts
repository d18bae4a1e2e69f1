import type { RejectedInput } from '../errors/exception.js'
import { rejectionText } from '../errors/root-cause.js'
import { table } from '../view/components.js'
import { html } from '../view/html.js'
import { visibleLine } from '../view/visible.js'
import { renderExcerpt } from './exceptions.js'

/** What a schema rejected, as a table; empty for a body that is no JSON. */
export function rejectedTable ({ fields = [] }: RejectedInput): string {
  const rows = fields.map(({ field, received, expected }) => html`<tr><th scope="row">${visibleLine(field)}</th>
<td>!${received === undefined ? 'missing' : html`<code>${received}</code>`}</td><td>${expected}</td></tr>`)
  return rows.length === 0 ? '' : table('Rejected fields', ['Field', 'Received', 'Expected'], rows, 'rejected')
}

/** The same as a card, or the place at which a body is no JSON, with its text. */
export function rejectedCard (input: RejectedInput): string {
  const { part, malformed } = input
  if (malformed === undefined) {
    return html`<div class="hints"><div class="hint wide card"><h2>Validation failed: ${part}</h2>
!${rejectedTable(input)}</div></div>`
  }
  const { line, excerpt: lines } = malformed
  const frame = { file: 'body.json', line, column: lines?.column ?? 0, function: '', own: false }
  return html`<div class="where card"><h2>${rejectionText(input)}</h2>
!${lines === undefined ? '' : renderExcerpt({ ...frame, excerpt: lines })}</div>`
}
