import type { EditorLink } from '../view/editor.js'
import { style as readStyle } from '../view/style.js'
import { html } from '../view/html.js'
import { KeptMarkup, octetsOf, type Part } from '../view/parts.js'
import { script as readScript } from '../view/script.js'
import * as themeSwitch from '../view/theme-switch/theme-switch.js'
import { grouped } from '../view/counted.js'
import { tokens } from '../view/tokens.js'
import { cut, visibleLine } from '../view/visible.js'
import type { StackFrame } from '../errors/exception.js'
import type { ErrorReport } from '../errors/report.js'
import * as copies from './copies/copies.js'
import * as exceptions from './exceptions/exceptions.js'
import * as excerpt from './excerpt/excerpt.js'
import * as hints from './hints/hints.js'
import * as lifecycle from './lifecycle/lifecycle.js'
import * as logs from './logs/logs.js'
import * as request from './request/request.js'
import * as stackTraces from './stack-traces/stack-traces.js'
import * as where from './where/where.js'
import { culprit, everyException, failureCount, headline, lineCount, place } from './shared.js'

const LONG_HEADLINE = 240
const MAX_HEADLINE = 1_200
const MAX_ASKED = 200
const MAX_TITLE = 1_000

const STYLE = new KeptMarkup('\n' + [
  tokens, themeSwitch.style, readStyle(import.meta.url, './layout/style.css'), hints.style, exceptions.style, excerpt.style, where.style,
  lifecycle.style, logs.style, stackTraces.style, request.style, copies.style
].join('\n') + '</style>')
const SCRIPT = new KeptMarkup('\n' + themeSwitch.script + ';\n' + readScript(import.meta.url, './layout/script.js') + '</script>\n</body>\n</html>\n')

/** The nonces of the page's own policy: the only styles and scripts on it bear them. */
export interface Nonce { script: string, style: string }

/** The diagnostic page: complete without its script, and of nothing but text where it quotes what came from outside. */
export function renderHtml (report: ErrorReport, nonce: Nonce, editor: EditorLink | null = null): string {
  return partsOf(report, nonce, editor).join('')
}

/** The same as it is sent. */
export function encodeHtml (report: ErrorReport, nonce: Nonce, editor: EditorLink | null = null): Buffer {
  return octetsOf(partsOf(report, nonce, editor))
}

function partsOf (report: ErrorReport, nonce: Nonce, editor: EditorLink | null): Part[] {
  const title = `${cut(visibleLine(headline(report)), MAX_TITLE)} (${report.status} ${report.reason})`
  const frame = culprit(report)
  // A place without its source is not shown apart.
  const shown = frame?.excerpt === undefined ? null : frame
  return [html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>${title}</title>
<script nonce="${nonce.script}">!${themeSwitch.boot}</script>
<style nonce="${nonce.style}">`, STYLE, html`
</head>
<body>
<a class="skip" href="#exceptions">Skip to the exceptions</a>
!${band(report, shown)}
!${navigation(report)}
<main class="wrap">
`, where.render(shown, editor), html`
!${hints.render(report.hints)}
`, lifecycle.render(report.steps), '\n', ...exceptions.render(report.exceptions, editor, shown), '\n', ...logs.render(report), '\n', ...stackTraces.render(report.exceptions), '\n', ...copies.render(report), html`
</main>
!${request.render(report)}
<footer><div class="wrap">Hindsight shows this page in debug mode only.</div></footer>
<script nonce="${nonce.script}">`, SCRIPT]
}

function band (report: ErrorReport, shown: StackFrame | null): string {
  const message = headline(report)
  const kind = report.status >= 500 ? 'server' : report.status >= 400 ? 'client' : 'other'
  const names = report.exceptions.map((exception, i) => html`<li><a href="#exception-${i + 1}">${exception.name}</a></li>`)
  return html`<header class="band ${kind}"><div class="wrap">
<div class="top"><p class="status"><strong>${report.status}</strong> ${visibleLine(report.reason)}</p>!${themeSwitch.render()}</div>
<h1 class="${message.length > LONG_HEADLINE ? 'long' : 'short'}">${cut(message, MAX_HEADLINE)}</h1>
!${names.length > 1 ? html`<nav aria-label="Chain of exceptions, root cause first"><ol class="chain">!${names}</ol></nav>` : ''}
<ul class="facts">
<li><a href="#request"><code>${asked(report)}</code></a></li>
!${[...raiser(report), ...controllerFact(report), ...culpritFact(report, shown), ...profile(report)]}
<li class="copies-of">!${copies.renderLinks()}</li>
</ul>
</div></header>`
}

function raiser ({ raisedBy }: ErrorReport): string[] {
  return raisedBy ? [html`<li class="raiser">raised by <code>${raisedBy.listener}</code> in <code>${raisedBy.stage}</code></li>`] : []
}

function controllerFact ({ controller }: ErrorReport): string[] {
  return controller ? [html`<li class="controller">handled by <code>${visibleLine(controller.name)}</code></li>`] : []
}

function asked ({ request: { method, url } }: ErrorReport): string {
  return cut(visibleLine(`${method} ${url.replace(/^[a-z]+:\/\/[^/]*/i, '')}`), MAX_ASKED)
}

// Said in a word where there is no source to show.
function culpritFact (report: ErrorReport, shown: StackFrame | null): string[] {
  const frame = shown === null ? culprit(report) : undefined
  return frame ? [html`<li class="culprit">in <code>${place(frame)}</code></li>`] : []
}

function profile ({ profile }: ErrorReport): string[] {
  // Whoever fills in the report decides where this leads, but never to script.
  if (!profile || !/^(https?:\/\/|\/)/.test(profile.url)) return []
  return [html`<li>profile <a href="${profile.url}"><code>${profile.token}</code></a></li>`]
}

function navigation (report: ErrorReport): string {
  const failures = failureCount(report)
  const traces = everyException(report.exceptions).length
  return html`<nav class="sections" aria-label="Sections"><ul class="wrap">
<li><a href="#exceptions">Exceptions <span class="count">${report.exceptions.length}</span></a></li>
<li><a href="#logs">Logs <span class="count!${failures > 0 ? ' bad' : ''}">${grouped(lineCount(report))}</span></a></li>
<li><a href="#stack-traces">Stack Traces <span class="count">${traces}</span></a></li>
<li><a href="#request">Request</a></li>
</ul></nav>`
}
