import { asset } from '../../view/asset.js'
import { html } from '../../view/html.js'
import { tokens } from '../../view/tokens.js'
import { cut, visibleLine } from '../../view/visible.js'
import type { ErrorReport } from '../report.js'
import * as exceptions from './exceptions/exceptions.js'
import * as hints from './hints/hints.js'
import * as logs from './logs/logs.js'
import * as request from './request/request.js'
import * as stackTraces from './stack-traces/stack-traces.js'
import { culprit, everyException, headline, isFailure, place } from './shared.js'

const LONG_HEADLINE = 240
const MAX_HEADLINE = 1_200
const MAX_TITLE = 1_000

const STYLE = [
  tokens, asset(import.meta.url, './layout/style.css'), hints.style, exceptions.style, logs.style, stackTraces.style, request.style
].join('\n')
const SCRIPT = asset(import.meta.url, './layout/script.js').replace(/^\/\/.*\n/gm, '')

/** The nonces of the page's own policy: the only style and the only script on it bear them. */
export interface Nonce { script: string, style: string }

/** The diagnostic page: complete without its script, and of nothing but text where it quotes what came from outside. */
export function renderHtml (report: ErrorReport, nonce: Nonce): string {
  const title = `${cut(visibleLine(headline(report)), MAX_TITLE)} (${report.status} ${report.reason})`
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>${title}</title>
<style nonce="${nonce.style}">
!${STYLE}</style>
</head>
<body>
<a class="skip" href="#exceptions">Skip to the exceptions</a>
!${band(report)}
!${navigation(report)}
<main class="wrap">
!${hints.render(report.hints)}
!${exceptions.render(report.exceptions)}
!${logs.render(report.logs, report.profile?.url)}
!${stackTraces.render(report.exceptions)}
</main>
!${request.render(report)}
<footer><div class="wrap">Hindsight shows this page in debug mode only.</div></footer>
<script nonce="${nonce.script}">
!${SCRIPT}</script>
</body>
</html>
`
}

function band (report: ErrorReport): string {
  const message = headline(report)
  const kind = report.status >= 500 ? 'server' : report.status >= 400 ? 'client' : 'other'
  const names = report.exceptions.map((exception, i) => html`<li><a href="#exception-${i + 1}">${exception.name}</a></li>`)
  return html`<header class="band ${kind}"><div class="wrap">
<p class="status"><strong>${report.status}</strong> ${visibleLine(report.reason)}</p>
<h1 class="${message.length > LONG_HEADLINE ? 'long' : 'short'}">${cut(message, MAX_HEADLINE)}</h1>
!${names.length > 1 ? html`<ul class="chain" aria-label="Chain of exceptions, root cause first">!${names}</ul>` : ''}
<ul class="facts">
<li><code>${visibleLine(report.request.method)}</code> <a href="#request">the request</a></li>
!${[...raiser(report), ...culpritFact(report), ...profile(report)]}
</ul>
</div></header>`
}

function raiser ({ raisedBy }: ErrorReport): string[] {
  return raisedBy ? [html`<li class="raiser">raised by <code>${raisedBy.listener}</code> in <code>${raisedBy.stage}</code></li>`] : []
}

function culpritFact (report: ErrorReport): string[] {
  const frame = culprit(report)
  return frame ? [html`<li class="culprit">in <code>${place(frame)}</code></li>`] : []
}

function profile ({ profile }: ErrorReport): string[] {
  // Whoever fills in the report decides where this leads, but never to script.
  if (!profile || !/^(https?:\/\/|\/)/.test(profile.url)) return []
  return [html`<li>profile <a href="${profile.url}"><code>${profile.token}</code></a></li>`]
}

function navigation (report: ErrorReport): string {
  const failures = report.logs.filter(isFailure).length
  const traces = everyException(report.exceptions).length
  return html`<nav class="sections" aria-label="Sections"><ul class="wrap">
<li><a href="#exceptions">Exceptions <span class="count">${report.exceptions.length}</span></a></li>
<li><a href="#logs">Logs <span class="count!${failures > 0 ? ' bad' : ''}">${report.logs.length}</span></a></li>
<li><a href="#stack-traces">Stack Traces <span class="count">${traces}</span></a></li>
<li><a href="#request">Request</a></li>
</ul></nav>`
}
