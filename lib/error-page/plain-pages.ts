import type { Representation } from '../errors/negotiate.js'
import { html, htmlPage } from '../view/html.js'
import { escapeMarkdown } from '../view/markdown.js'
import { cut } from '../view/visible.js'

const SERVER_ERROR =
  'Something is broken. Please try again later, and let us know what you were doing when this happened.'
const CLIENT_ERROR = 'The request could not be answered. Please check its address, or go back and try again.'
const FALLBACK_TITLE = 'An error occurred while an error was explained'
const MAX_STACK = 10_000

/**
 * The error for clients that may not see the diagnostic page. `reason` is the phrase of the status, and `token` a
 * reference for the operators; `detail` is in the JSON only. The HTML has no style and no script: any policy of the
 * application allows it.
 */
export function renderProductionError (
  status: number, reason: string, type: Representation['type'], token?: string, detail?: string
): string {
  if (type === 'json') return problem({ title: reason, status, detail, token })
  const title = `An Error Occurred: ${reason}`
  const phrase = `${status} ${reason}`
  const remark = status >= 500 ? SERVER_ERROR : CLIENT_ERROR
  if (type === 'html') {
    return htmlPage(title, '', html`<main>
<h1>An Error Occurred</h1>
<p><strong>${phrase}</strong></p>
<p>${remark}</p>
!${token === undefined ? '' : html`<p>Reference: <code>${token}</code></p>`}
</main>`)
  }
  const lines = type === 'markdown' ? [`# ${escapeMarkdown(title)}`, escapeMarkdown(phrase)] : [title, phrase]
  return paragraphs(...lines, remark, ...(token === undefined ? [] : [`Reference: ${token}`]))
}

/**
 * The page of last resort: the error, and the error that was raised while it was rendered. Never throws; `mask` hides
 * the secrets in their texts.
 */
export function renderFallback (
  first: unknown,
  second: unknown,
  type: Representation['type'] = 'html',
  mask: (text: string) => string = (text) => text
): string {
  const [one = '', other = ''] = [first, second].map((error) => stackOf(error, mask))
  if (type === 'json') return problem({ title: FALLBACK_TITLE, errors: [one, other] })
  // Indented, it is a code block in Markdown as well.
  if (type !== 'html') return paragraphs(FALLBACK_TITLE, one, other).trim().replace(/\n(?!\n)/g, '\n    ') + '\n'
  return htmlPage(FALLBACK_TITLE, '', html`<main>
<h1>${FALLBACK_TITLE}</h1>
<h2>The error</h2>
<pre tabindex="0">${one}</pre>
<h2>The error in explaining it</h2>
<pre tabindex="0">${other}</pre>
</main>`)
}

// Uses neither the flattening of errors nor an inspection: they may be what failed.
function stackOf (error: unknown, mask: (text: string) => string): string {
  try {
    const stack: unknown = Object(error).stack
    return mask(cut(typeof stack === 'string' && stack !== '' ? stack : String(error), MAX_STACK))
  } catch {
    return 'A value that cannot be shown.'
  }
}

/** A problem document (RFC 9457). */
function problem (members: object): string {
  return JSON.stringify({ type: 'about:blank', ...members }).replaceAll('<', '\\u003c')
}

function paragraphs (...parts: string[]): string {
  return parts.join('\n\n') + '\n'
}
