import { STATUS_CODES } from 'node:http'
import { html } from '../view/html.js'
import { preferredType } from './accept.js'

/** The answer to a refused message, as it is written to the socket. */
export function answerTo (status: number, message: string, accept = 'text/html'): string {
  const reason = STATUS_CODES[status] ?? ''
  const isPage = preferredType(accept, ['text/html', 'application/problem+json']) === 'text/html'
  const body = isPage
    ? page(`${status} ${reason}`, message)
    : JSON.stringify({ type: 'about:blank', title: reason, status, detail: message })
  return [
    `HTTP/1.1 ${status} ${reason}`,
    `Date: ${new Date().toUTCString()}`,
    `Content-Type: ${isPage ? 'text/html; charset=utf-8' : 'application/problem+json'}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    '',
    body
  ].join('\r\n')
}

function page (title: string, message: string): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${title}</title></head>
<body><main><h1>${title}</h1><p>${message}</p></main></body>
</html>
`
}
