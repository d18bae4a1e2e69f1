import { style as readStyle } from '../../view/style.js'
import { html } from '../../view/html.js'
import { cut, visibleLine } from '../../view/visible.js'
import type { ErrorReport } from '../../errors/report.js'

const MAX_VALUE = 2_000
const MAX_HEADERS = 200

/** How the summary of the request looks. */
export const style = readStyle(import.meta.url, './style.css')

/** What was asked, by whom, with which headers; these are masked before they reach a report. */
export function render ({ request }: ErrorReport): string {
  const { method, url, ip, headers } = request
  const left = headers.length - MAX_HEADERS
  return html`<aside id="request" class="request wrap" aria-labelledby="request-title">
<h2 id="request-title">Request</h2>
<dl class="card">
<div><dt>Method</dt><dd class="asked">${line(method)}</dd></div>
<div><dt>URL</dt><dd class="asked">${line(url)}</dd></div>
<div><dt>Client</dt><dd>${line(ip)}</dd></div>
!${headers.slice(0, MAX_HEADERS).map(([name, value]) => html`<div class="header"><dt>${line(name)}</dt><dd>${line(value)}</dd></div>
`)}
</dl>
!${left > 0 ? html`<p class="note">${left} more headers are left out.</p>` : ''}
</aside>`
}

function line (text: string): string {
  return visibleLine(cut(text, MAX_VALUE))
}
