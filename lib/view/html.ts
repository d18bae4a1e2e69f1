import { visible } from './visible.js'

/** A value in a template: text, a number, nothing, or, after a `!`, markup. */
type Fragment = string | number | null | undefined | readonly string[]

/**
 * Escapes a text for HTML and replaces its control and bidirectional characters by visible ones. The non-ASCII signs of
 * Hindsight's own texts are escaped, too: to send a page that is only ASCII costs a tenth less.
 */
export function text (value: string): string {
  return visible(value).replace(/["&'<>·…’]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/**
 * The template tag for HTML: escapes each value as `text` does. A value after an exclamation mark, `!${markup}`,
 * is markup and is inserted as it is; an array of markup is joined. Attributes must be in double quotes.
 */
export function html ({ raw }: TemplateStringsArray, ...values: Fragment[]): string {
  let markup = ''
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    const literal = raw[i] as string
    const isMarkup = literal.endsWith('!')
    markup += isMarkup ? literal.slice(0, -1) : literal
    markup += !isMarkup ? text(String(value ?? '')) : Array.isArray(value) ? value.join('') : value ?? ''
  }
  return markup + (raw[values.length] as string)
}

/** A page; `head` is markup after its title, `body` markup too. */
export function htmlPage (title: string, head: string, body: string): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
!${head}
</head>
<body>
!${body}
</body>
</html>
`
}

/** The body of a redirect, for clients that do not follow it (RFC 9110, section 15.4). */
export function redirectPage (location: string): string {
  return htmlPage(`Redirecting to ${location}`, '', html`<p>Redirecting to <a href="${location}">${location}</a>.</p>`)
}
