import { html, htmlPage } from '../../view/html.js'
import * as themeSwitch from '../../view/theme.js'
import { visibleLine } from '../../view/visible.js'
import { statusClass } from '../../view/components.js'

/** The options of every page. */
export interface PageOptions {
  /** The path of the profiler's routes, without a trailing slash. */
  base: string
  nonce: { script: string, style: string }
  /** The URLs of the stylesheet and of the script. */
  assets: { style: string, script: string }
}

/** Prevents pages of other origins from framing, opening or reading a page (HTML Standard 7.1.3; Fetch 3.7). */
export const ISOLATION: Readonly<Record<string, string>> = {
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin'
}

/** The Content-Security-Policy of a page: elements with its nonces, and requests to its origin, are allowed. */
export function pagePolicy (nonce: PageOptions['nonce']): string {
  return [
    "default-src 'none'",
    `style-src 'nonce-${nonce.style}'`,
    `script-src 'nonce-${nonce.script}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'"
  ].join('; ')
}

/** The page of an error, such as an unknown token, with one sentence. */
export function noticePage (options: PageOptions, title: string, sentence: string): string {
  return layout(options, title, html`<main id="content"><h1>${title}</h1><p class="lead">${sentence}</p>
<p>The newest profiles are in the <a href="${options.base}/">list</a>. Old ones are removed, unless pinned.</p>
</main>`)
}

const SHORTCUTS = {
  '/': 'Search', j: 'Next row', k: 'Previous row', 'o or Enter': 'Open', 'g e': 'Latest failure', '?': 'This help'
}

// Hidden until the script has run; it can be switched off (WCAG 2.1.4).
function shortcuts (): string {
  return html`<dialog class="shortcuts" aria-labelledby="shortcuts"><h2 id="shortcuts">Keyboard shortcuts</h2>
<dl>!${Object.entries(SHORTCUTS).map(([keys, what]) => html`<dt><kbd>${keys}</kbd></dt><dd>${what}</dd>`)}</dl>
<form method="dialog"><label><input type="checkbox" checked> Enable keyboard shortcuts</label>
<button type="submit" autofocus>Close</button></form></dialog>`
}

/** The colors of the icon of a page, by class of status. */
const ICON_COLORS = ['4a5364', '1f4f8f', '1d6b41', '1f4f8f', 'b05a08', 'b8202f']

function iconOf (status: number): string {
  const circle = `<circle cx="8" cy="8" r="7" fill="#${ICON_COLORS[Number(statusClass(status))]}"/>`
  return 'data:image/svg+xml,' +
    encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${circle}</svg>`)
}

/** The frame of all pages; `content` is markup. The class of `status` colors the icon. */
export function layout ({ base, nonce, assets }: PageOptions, title: string, content: string, status = 0): string {
  const head = html`<meta name="robots" content="noindex">
<script nonce="${nonce.script}">!${themeSwitch.boot}</script>
<link rel="icon" href="${iconOf(status)}">
<link rel="stylesheet" href="${assets.style}" nonce="${nonce.style}">
<script type="module" src="${assets.script}" nonce="${nonce.script}"></script>`
  const fullTitle = `${visibleLine(title)} · Hindsight`
  return htmlPage(fullTitle, head, html`<a class="skip" href="#content">Skip to the content</a>
<header class="top"><a class="brand" href="${base}/">Hindsight profiler</a>
<nav aria-label="Profiles"><a href="${base}/">All profiles</a> <a href="${base}/search?error=1">Failures</a>
<a href="${base}/latest">Latest</a> <a href="${base}/latest?error=1">Latest failure</a></nav>
<button type="button" class="help" aria-label="Keyboard shortcuts" hidden>?</button>
!${themeSwitch.render()}</header>
!${content}
!${shortcuts()}`)
}
