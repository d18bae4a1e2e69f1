import { html } from '../view/html.js'
import { safeJson } from '../view/json.js'
import { escapeMarkdown } from '../view/markdown.js'
import { visibleLine } from '../view/visible.js'
import type { Representation } from '../errors/negotiate.js'

// Without a reference they are the same every time: one for each status and form.
const rendered: Record<Representation['type'], Map<number, { reason: string, page: string }>> = { html: new Map(), json: new Map(), text: new Map(), markdown: new Map() }

/** The error for people who may not see the debug page: what went wrong in general, and nothing of the inside. */
export function renderProductionError (status: number, reason: string, type: Representation['type'], token?: string): string {
  if (token !== undefined) return render(status, reason, type, token)
  const known = rendered[type].get(status)
  if (known?.reason === reason) return known.page
  const page = render(status, reason, type)
  rendered[type].set(status, { reason, page })
  return page
}

function render (status: number, reason: string, type: Representation['type'], token?: string): string {
  const title = `An Error Occurred: ${visibleLine(reason)}`
  const remark = status >= 500
    ? 'Something is broken. Please try again later, and let us know what you were doing when this happened.'
    : 'The request could not be answered. Please check its address, or go back and try another way.'
  const reference = token === undefined ? undefined : visibleLine(token)
  switch (type) {
    case 'json':
      return safeJson({ type: 'about:blank', title: reason, status, ...(token !== undefined && { token }) }).replaceAll('<', '\\u003c')
    case 'text':
      return lines(title, `${status} ${visibleLine(reason)}`, remark, reference && `Reference: ${reference}`)
    case 'markdown':
      return lines(`# ${escapeMarkdown(title)}`, `**${status} ${escapeMarkdown(reason)}**`, remark, reference && `Reference: ${escapeMarkdown(reference)}`)
    case 'html':
      // No style and no script at all: this page keeps within whatever policy the application has.
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
<p><strong>${status} ${visibleLine(reason)}</strong></p>
<p>${remark}</p>
!${reference === undefined ? '' : html`<p>Reference: <code>${reference}</code></p>`}
</main>
</body>
</html>
`
  }
}

function lines (...parts: Array<string | undefined>): string {
  return parts.filter((part) => part !== undefined).join('\n\n') + '\n'
}
