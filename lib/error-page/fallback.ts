import type { Representation } from '../errors/negotiate.js'
import { html } from '../view/html.js'
import { cut } from '../view/visible.js'

const TITLE = 'An error occurred while an error was explained'

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
  const [one, other] = [stackOf(first, mask), stackOf(second, mask)]
  if (type === 'json') return JSON.stringify({ type: 'about:blank', title: TITLE, errors: [one, other] })
  // Indented, it is a code block in Markdown as well.
  if (type !== 'html') return `${TITLE}\n\n${one}\n\n${other}`.replace(/\n(?!\n)/g, '\n    ') + '\n'
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${TITLE}</title>
</head>
<body>
<main>
<h1>${TITLE}</h1>
<h2>The error</h2>
<pre tabindex="0">${one}</pre>
<h2>The error in explaining it</h2>
<pre tabindex="0">${other}</pre>
</main>
</body>
</html>
`
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
