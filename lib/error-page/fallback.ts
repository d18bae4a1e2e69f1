import { html } from '../view/html.js'
import { cut } from '../view/visible.js'
import type { Representation } from '../errors/negotiate.js'

const TITLE = 'An error occurred while an error was explained'

/**
 * The page of last resort: rendering an error failed, and both errors are named, in the form that was asked for.
 * Cannot throw, whatever the errors are; `mask` hides the secrets of their texts.
 */
export function renderFallback (first: unknown, second: unknown, type: Representation['type'] = 'html', mask: (text: string) => string = (text) => text): string {
  const [one, other] = [told(first, mask), told(second, mask)]
  if (type === 'json') return JSON.stringify({ type: 'about:blank', title: TITLE, errors: [one, other] })
  if (type !== 'html') return `${TITLE}\n\n${indented(one)}\n\n${indented(other)}\n`
  return html`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${TITLE}</title></head>
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

// As a block of plain text and of Markdown alike: nothing in it is markup.
function indented (text: string): string {
  return text.split('\n').map((line) => `    ${line}`).join('\n')
}

// Depends on nothing that may have been what failed: neither on the flattening nor on an inspection.
function told (error: unknown, mask: (text: string) => string): string {
  try {
    const stack: unknown = Object(error).stack
    return mask(cut(typeof stack === 'string' && stack !== '' ? stack : String(error), 10_000))
  } catch {
    return 'A value that cannot be shown.'
  }
}
