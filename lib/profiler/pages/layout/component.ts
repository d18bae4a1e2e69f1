import { html } from '../../../view/html.js'
import { style as readStyle } from '../../../view/asset.js'
import * as theme from '../../../view/theme.js'
import { visibleLine } from '../../../view/visible.js'

/** What every page of the profiler needs to know of where it is served. */
export interface PageOptions {
  /** The path that the profiler's routes begin with, without a slash at the end. */
  base: string
  nonce: { script: string, style: string }
  /** Goes with every form that changes something, as `form_token`. */
  formToken: string
  /** The addresses of what all pages share. */
  assets: { style: string, script: string }
}

/** How the frame and the parts that all pages share look. */
export const style = readStyle(import.meta.url, './style.css')

/** The frame of a page of the profiler; `content` is markup. */
export function layout ({ base, nonce, assets }: PageOptions, title: string, content: string): string {
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${visibleLine(title)}</title>
<script nonce="${nonce.script}">!${theme.boot}</script>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assets.style}" nonce="${nonce.style}">
<script type="module" src="${assets.script}" nonce="${nonce.script}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><a class="brand" href="${base}/">Hindsight profiler</a>
<nav aria-label="Profiles"><a href="${base}/">All profiles</a> <a href="${base}/search?error=1">Failures</a> <a href="${base}/latest">Latest</a> <a href="${base}/latest?error=1">Latest failure</a></nav>!${theme.render()}</header>
!${content}
</body>
</html>
`
}
