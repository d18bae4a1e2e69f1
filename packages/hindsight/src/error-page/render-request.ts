import type { RejectedInput } from '../errors/exception.js'
import { isClientHeader } from '../http/requests.js'
import { markupTable } from '../view/components.js'
import { formatCount, cutText, html, unbrokenUnits, visibleLine, type HtmlValue, type SafeHtml } from '../view/text.js'
import { requestIn, type FailureProfile } from './failure-profile.js'
import { bodyText, fieldText } from './render-text.js'

/** Characters. */
const MAX_TEXT = 2_000

/** The section Request: what was requested, then the headers; the client and what each browser sends are folded. */
export function renderRequest (failure: FailureProfile): SafeHtml {
  const { method, url, ip, route, sentences } = failure
  const { query, body, headers } = requestIn(failure)
  const rows = (entries: ReadonlyArray<readonly [string, string]>): SafeHtml[] => entries.map(([name, value]) =>
    html`<div><dt>${visibleLine(cutText(name, MAX_TEXT))}</dt> <dd>${visibleLine(cutText(value, MAX_TEXT))}</dd></div>
`)
  const fields = (data: object = {}, label: string): Array<[string, string]> =>
    Object.entries(data).map(([name, value]) => [`${label} ${name}`, fieldText(value)])
  const ofClient = headers.filter(([name]) => isClientHeader(name))
  return html`<section id="request" class="request" aria-labelledby="request-title">
<h2 id="request-title">Request</h2>${sentences.map((text) => html`<p>${unbrokenUnits(text)}</p>`)}
<div class="card"><dl>
${rows([[method, url], ...route === null ? [] : [['Route', route.name] as const],
  ...fields(route?.params, 'Parameter'), ...fields(query, 'Query')])}
</dl>${body !== undefined && html`<h3>Body</h3><pre tabindex="0">${bodyText(body)}</pre>`}
<dl>${rows(headers.filter((header) => !ofClient.includes(header)))}</dl>
<details><summary>Client ${ip}, ${formatCount(ofClient.length, 'header')}</summary><dl>${rows(ofClient)}</dl></details>
</div>
</section>`
}

/** What a schema rejected, as a table; nothing for a body that is not JSON. */
export function rejectedMarkup ({ fields = [] }: RejectedInput): HtmlValue {
  const rows = fields.map(({ field, received, message }) => {
    const value = received === undefined ? 'missing' : html`<code>${received}</code>`
    return html`<tr><th scope="row">${visibleLine(field)}</th><td>${value}</td><td>${message}</td></tr>`
  })
  return rows.length > 0 && markupTable('Rejected fields', ['Field', 'Received', 'Message'], rows, 'rejected')
}

export function rejectedTitle ({ part }: RejectedInput): string {
  return `Validation failed: ${part}`
}

export function rejectedCard (input: RejectedInput): SafeHtml {
  return html`<div class="hint card"><h2>${rejectedTitle(input)}</h2>
${rejectedMarkup(input)}</div>`
}
