import { html } from './html.js'

/** The body of a redirect, for clients that do not follow it (RFC 9110, section 15.4). */
export function redirectPage (location: string): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Redirecting to ${location}</title></head>
<body><p>Redirecting to <a href="${location}">${location}</a>.</p></body>
</html>
`
}
