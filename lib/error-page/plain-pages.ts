import type { Representation } from '../errors/negotiate.js'
import { html } from '../view/html.js'
import { escapeMarkdown } from '../view/markdown.js'
import { cut, visibleLine } from '../view/visible.js'

const SERVER_ERROR =
  'Something is broken. Please try again later, and let us know what you were doing when this happened.'
const CLIENT_ERROR = 'The request could not be answered. Please check its address, or go back and try another way.'
const FALLBACK_TITLE = 'An error occurred while an error was explained'

/** The error for clients that may not see the diagnostic page; `token` is a reference for the operators. */
export function renderProductionError (
  status: number, reason: string, type: Representation['type'], token?: string
): string {
  const phrase = visibleLine(reason)
  const title = `An Error Occurred: ${phrase}`
  const remark = status >= 500 ? SERVER_ERROR : CLIENT_ERROR
  const reference = token === undefined ? [] : [visibleLine(token)]
  switch (type) {
    case 'json':
      return problem({ title: reason, status, token })
    case 'text':
      return paragraphs(title, `${status} ${phrase}`, remark, ...reference.map((text) => `Reference: ${text}`))
    case 'markdown':
      return paragraphs(
        `# ${escapeMarkdown(title)}`, `**${status} ${escapeMarkdown(reason)}**`, remark,
        ...reference.map((text) => `Reference: ${escapeMarkdown(text)}`)
      )
    case 'html':
      return page(title, html`<h1>An Error Occurred</h1>
<p><strong>${status} ${phrase}</strong></p>
<p>${remark}</p>
!${reference.map((text) => html`<p>Reference: <code>${text}</code></p>`)}`)
  }
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
  return page(FALLBACK_TITLE, html`<h1>${FALLBACK_TITLE}</h1>
<h2>The error</h2>
<pre tabindex="0">${one}</pre>
<h2>The error in explaining it</h2>
<pre tabindex="0">${other}</pre>`)
}

// Uses neither the flattening of errors nor an inspection: they may be what failed.
function stackOf (error: unknown, mask: (text: string) => string): string {
  try {
    const stack: unknown = Object(error).stack
    return mask(cut(typeof stack === 'string' && stack !== '' ? stack : String(error), 10_000))
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

/** A page without style and script, which any policy of the application allows. */
function page (title: string, content: string): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
</head>
<body>
<main>
!${content}
</main>
</body>
</html>
`
}
