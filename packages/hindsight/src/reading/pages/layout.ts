import { createHash } from 'node:crypto'
import * as exceptions from '../../error-page/exceptions.js'
import { parts } from '../../parts/index.js'
import { readAsset } from '../../view/asset.js'
import { statusClass } from '../../view/components.js'
import { html, htmlPage, visibleLine, type HtmlValue, type SafeHtml } from '../../view/text.js'

/** A file whose name contains a hash of its content, so that browsers may cache it forever. */
interface Asset {
  /** The last segment of its URL. */
  name: string
  type: string
  content: string
}

const BASE_STYLE = readAsset(import.meta.url, '../../view/base.css')
const COPY_BUTTON = readAsset(import.meta.url, '../../view/copy-button.js')
// The last one adapts all others.
const PAGES_STYLE = readAsset(import.meta.url, './pages.css') + readAsset(import.meta.url, './narrow.css')

export const pageAssets = {
  style: asset('css', BASE_STYLE + exceptions.style + styles('style') + PAGES_STYLE),
  script: asset('js', COPY_BUTTON + readAsset(import.meta.url, './script.js'))
}

export const toolbarAssets = {
  style: asset('css', readAsset(import.meta.url, './toolbar/style.css') + styles('toolbarStyle')),
  script: asset('js', readAsset(import.meta.url, './toolbar/script.js'))
}

/** The script that shows the toolbar on pages of other servers: `markup` is that of the toolbar. */
export function toolbarScript (markup: string): string {
  return `if (!document.querySelector('hindsight-toolbar')) (function () {
'use strict'
const toolbarStyle = ${JSON.stringify(toolbarAssets.style.content)}
const toolbarMarkup = ${JSON.stringify(markup)}
${readAsset(import.meta.url, './toolbar/page.js')};${toolbarAssets.script.content}})()
`
}

/** The stylesheets and scripts of the profiler's pages and of the toolbar. */
export const assets: readonly Asset[] = [pageAssets, toolbarAssets].flatMap((pair) => Object.values(pair))

/** The URLs of a stylesheet and its script; `base` is the path of the profiler's routes, without a trailing slash. */
export function addressesOf ({ style, script }: typeof pageAssets, base: string): Record<'style' | 'script', string> {
  return { style: `${base}/assets/${style.name}`, script: `${base}/assets/${script.name}` }
}

function asset (extension: 'css' | 'js', content: string): Asset {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16)
  const type = `text/${extension === 'js' ? 'javascript' : 'css'}; charset=utf-8`
  return { name: `${hash}.${extension}`, type, content }
}

function styles (of: 'style' | 'toolbarStyle'): string {
  return parts.map((part) => part[of] ?? '').join('')
}

/** The options of every page. */
export interface PageOptions {
  /** The path of the profiler's routes, without a trailing slash. */
  base: string
  /** Whether there are pages of routes, and requests may be replayed: in debug mode. */
  debug: boolean
  nonce: { script: string, style: string }
}

/** Prevents pages of other origins from framing, opening or reading a page (HTML Standard 7.1.3; Fetch 3.7). */
export const ISOLATION: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
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
export function noticePage (options: PageOptions, title: string, sentence: string): SafeHtml {
  return pageLayout(options, title, html`<main id="content"><h1>${title}</h1><p class="lead">${sentence}</p>
<p>The newest profiles are in the <a href="${options.base}/">list</a>. Old ones are removed, unless pinned.</p>
</main>`)
}

const SHORTCUTS = {
  '/': 'Search',
  j: 'Next row, or older profile',
  k: 'Previous row, or newer profile',
  'o or Enter': 'Open',
  'g e': 'Latest failure',
  '?': 'This help'
}

// Hidden until the script has run; it can be switched off (WCAG 2.1.4).
function shortcuts (): SafeHtml {
  return html`<dialog class="shortcuts" aria-labelledby="shortcuts"><h2 id="shortcuts">Keyboard shortcuts</h2>
<dl>${Object.entries(SHORTCUTS).map(([keys, what]) => html`<dt><kbd>${keys}</kbd></dt><dd>${what}</dd>`)}</dl>
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

/** A link, marked where it is the current one. */
export function pageLink (href: string, text: string, current: string): SafeHtml {
  return html`<a href="${href}"${href === current && html` aria-current="page"`}>${text}</a> `
}

const LINKS = {
  Profiles: '/',
  Groups: '/search?group=failures',
  Routes: '/routes',
  Latest: '/latest',
  'Latest failure': '/latest?error=1'
}

/**
 * The frame of all pages. The class of `status` colors the icon; the link to `current` is marked.
 */
export function pageLayout (
  options: PageOptions, title: string, content: HtmlValue, status = 0, current = ''
): SafeHtml {
  const { base, debug, nonce } = options
  const links = Object.entries(LINKS).filter(([, path]) => debug || path !== LINKS.Routes)
  const { style, script } = addressesOf(pageAssets, base)
  const head = html`<meta name="robots" content="noindex">
<link rel="icon" href="${iconOf(status)}">
<link rel="stylesheet" href="${style}" nonce="${nonce.style}">
<script type="module" src="${script}" nonce="${nonce.script}"></script>`
  const fullTitle = `${visibleLine(title)} · Hindsight`
  return htmlPage(fullTitle, head, html`<a class="skip" href="#content">Skip to the content</a>
<header class="top"><a class="brand" href="${base}/">Hindsight profiler</a>
<nav aria-label="Profiles">${links.map(([text, path]) => pageLink(base + path, text, current))}</nav>
<button type="button" class="help" aria-label="Keyboard shortcuts" hidden>?</button></header>
${content}
${shortcuts()}`)
}
