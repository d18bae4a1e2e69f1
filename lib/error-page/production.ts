import type { Representation } from '../errors/negotiate.js'
import { html } from '../view/html.js'
import { safeJson } from '../view/json.js'
import { escapeMarkdown } from '../view/markdown.js'
import { visibleLine } from '../view/visible.js'

const SERVER_ERROR =
  'Something is broken. Please try again later, and let us know what you were doing when this happened.'
const CLIENT_ERROR = 'The request could not be answered. Please check its address, or go back and try another way.'

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
      return safeJson({ type: 'about:blank', title: reason, status, token }).replaceAll('<', '\\u003c')
    case 'text':
      return paragraphs(title, `${status} ${phrase}`, remark, ...reference.map((text) => `Reference: ${text}`))
    case 'markdown':
      return paragraphs(
        `# ${escapeMarkdown(title)}`, `**${status} ${escapeMarkdown(reason)}**`, remark,
        ...reference.map((text) => `Reference: ${escapeMarkdown(text)}`)
      )
    case 'html':
      // Without style and script it is allowed by any policy of the application.
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
<h1>An Error Occurred</h1>
<p><strong>${status} ${phrase}</strong></p>
<p>${remark}</p>
!${reference.map((text) => html`<p>Reference: <code>${text}</code></p>`)}
</main>
</body>
</html>
`
  }
}

function paragraphs (...parts: string[]): string {
  return parts.join('\n\n') + '\n'
}
