import { asset } from '../../view/asset.js'
import { html } from '../../view/html.js'
import { tokens } from '../../view/tokens.js'
import { visibleLine } from '../../view/visible.js'

/** What every page of the profiler needs to know of where it is served. */
export interface PageOptions {
  /** The path that the profiler's routes begin with, without a slash at the end. */
  base: string
  nonce: { script: string, style: string }
  /** Goes with every form that changes something, as `form_token`. */
  formToken: string
}

const style = tokens + asset(import.meta.url, './style.css')

/** The frame of a page of the profiler; `content` is markup. */
export function layout ({ base, nonce }: PageOptions, title: string, content: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${visibleLine(title)}</title>
<link rel="icon" href="data:,">
<style nonce="${nonce.style}">!${style}</style>
</head>
<body>
<header class="top"><a class="brand" href="${base}/">Hindsight profiler</a>
<nav aria-label="Profiles"><a href="${base}/">All profiles</a> <a href="${base}/search?error=1">Failures</a> <a href="${base}/latest">Latest</a> <a href="${base}/latest?error=1">Latest failure</a></nav></header>
!${content}
</body>
</html>
`
}

/** The policy of a page: nothing but its own nonces, and nobody may frame it. */
export function pagePolicy (nonce: { script: string, style: string }): string {
  return [
    "default-src 'none'",
    `style-src 'nonce-${nonce.style}'`,
    `script-src 'nonce-${nonce.script}'`,
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'"
  ].join('; ')
}
