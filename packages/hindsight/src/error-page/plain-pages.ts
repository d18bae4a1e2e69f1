import { attemptCall } from '../call.js'
import type { Representation } from '../http/requests.js'
import { STATUS_CODES } from '../http/node-http.js'
import { cutText, html, htmlPage } from '../view/text.js'

const SERVER_ERROR =
  'Something is broken. Please try again later, and let us know what you were doing when this happened.'
const CLIENT_ERROR = 'The request could not be answered. Please check its address, or go back and try again.'
const MAX_STACK = 10_000

/** The parts of a short error besides its status. */
interface Details {
  /** The token of the profile, a reference for the operators. */
  token?: string | undefined
  /** The reason: only for clients that may see it. */
  detail?: string | undefined
}

/**
 * Errors without details, by status and type. Rendering them for each request would take a tenth of the time of a 404
 * (`npm run bench -- not-found`).
 */
const errorsWithoutDetails = new Map<string, string>()

/**
 * The error for clients that may not see the diagnostic page, or where there is none. The HTML has no style and no
 * script: any policy of the application allows it.
 */
export function renderShortError (status: number, type: Representation['type'], details: Details = {}): string {
  if (details.token !== undefined || details.detail !== undefined) return render(status, type, details)
  const key = `${status} ${type}`
  const rendered = errorsWithoutDetails.get(key) ?? render(status, type, {})
  errorsWithoutDetails.set(key, rendered)
  return rendered
}

function render (status: number, type: Representation['type'], { token, detail }: Details): string {
  const reason = STATUS_CODES[status] ?? 'Error'
  // A problem document (RFC 9457).
  const problem = { type: 'about:blank', title: reason, status, detail, token }
  if (type === 'json') return JSON.stringify(problem).replaceAll('<', '\\u003c')
  const title = `An Error Occurred: ${reason}`
  const remark = status >= 500 ? SERVER_ERROR : CLIENT_ERROR
  if (type === 'html') {
    return String(htmlPage(title, '', html`<main>
<h1>An Error Occurred</h1>
<p><strong>${status} ${reason}</strong></p>
<p>${remark}</p>
${token !== undefined && html`<p>Reference: <code>${token}</code></p>`}
${detail !== undefined && html`<pre tabindex="0">${detail}</pre>`}
</main>`))
  }
  const reference = token === undefined ? [] : [`Reference: ${token}`]
  // Indented, the detail is a code block in Markdown.
  const details = detail === undefined ? [] : [`    ${detail.replaceAll('\n', '\n    ')}`]
  return [title, `${status} ${reason}`, remark, ...reference, ...details].join('\n\n') + '\n'
}

/** The stack of a raised value, or the value as text; for errors of `flattenError` and `inspect`. Never throws. */
export function plainStack (error: unknown): string {
  return attemptCall(() => {
    const stack: unknown = Object(error).stack
    return cutText(typeof stack === 'string' && stack !== '' ? stack : String(error), MAX_STACK)
  }, () => 'A value that cannot be shown.')
}
