import { html } from '../../view/html.js'
import { cut } from '../../view/visible.js'

/** The page of last resort: rendering an error failed, and both errors are named. Cannot throw. */
export function renderFallback (first: unknown, second: unknown): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>An error occurred while an error was explained</title></head>
<body>
<main>
<h1>An error occurred while an error was explained</h1>
<h2>The error</h2>
<pre>${told(first)}</pre>
<h2>The error in explaining it</h2>
<pre>${told(second)}</pre>
</main>
</body>
</html>
`
}

// Depends on nothing that may have been what failed: neither on the flattening nor on an inspection.
function told (error: unknown): string {
  try {
    const stack: unknown = Object(error).stack
    if (typeof stack === 'string' && stack !== '') return cut(stack, 10_000)
    return cut(String(error), 10_000)
  } catch {
    return 'A value that cannot be shown.'
  }
}
