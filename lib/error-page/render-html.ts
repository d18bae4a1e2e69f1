import type { StackFrame } from '../errors/exception.js'
import type { ErrorReport, Hint } from '../errors/report.js'
import { placeOf } from '../errors/stack-frame.js'
import { script as readScript, style as readStyle } from '../view/asset.js'
import { grouped } from '../view/counted.js'
import type { EditorLink } from '../view/editor.js'
import { html, htmlPage } from '../view/html.js'
import * as theme from '../view/theme.js'
import { cut, visibleLine } from '../view/visible.js'
import * as excerpt from './excerpt.js'
import { renderExceptions, renderStackTraces, renderWhere } from './exceptions.js'
import { renderLogs } from './logs.js'
import { everyException, firstOwnFrame, headline, logCounts, profileUrl } from './report-facts.js'
import { MARKDOWN, renderText } from './render-text.js'

/** Characters. */
const LONG_HEADLINE = 240
const MAX_HEADLINE = 1_200
const MAX_TARGET = 200
const MAX_TITLE = 1_000
const MAX_VALUE = 2_000

const STYLE = theme.style + readStyle(import.meta.url, './page.css') + excerpt.style
const SCRIPT = `${theme.script};\n${readScript(import.meta.url, './page.js')}`

/** The nonces of the page's policy, without which it runs no script and applies no style. */
export interface Nonce { script: string, style: string }

/** The diagnostic page. It is complete without its script. All text of the report is escaped. */
export function renderHtml (report: ErrorReport, nonce: Nonce, editor: EditorLink | null = null): string {
  const title = `${cut(visibleLine(headline(report)), MAX_TITLE)} (${report.status} ${report.reason})`
  const frame = firstOwnFrame(report)
  const shownAbove = frame?.excerpt === undefined ? undefined : frame
  const head = html`<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<script nonce="${nonce.script}">!${theme.boot}</script>
<style nonce="${nonce.style}">!${STYLE}</style>`
  return htmlPage(title, head, html`<a class="skip" href="#exceptions">Skip to the exceptions</a>
!${band(report, frame)}
!${navigation(report)}
<main class="wrap">
!${shownAbove === undefined ? '' : renderWhere(shownAbove, editor)}
!${report.hints.length === 0 ? '' : html`<div class="hints">!${report.hints.map(hintCard)}</div>`}
!${lifecycle(report)}
!${renderExceptions(report.exceptions, { editor, shownAbove })}
!${renderLogs(report)}
!${renderStackTraces(report.exceptions)}
<details class="copies card"><summary><h2>This report as Markdown</h2></summary>
<pre id="as-markdown" tabindex="-1">${renderText(report, MARKDOWN)}</pre></details>
</main>
!${request(report)}
<footer><div class="wrap">Hindsight shows this page in debug mode only.</div></footer>
<script nonce="${nonce.script}">!${SCRIPT}</script>`)
}

function band (report: ErrorReport, frame: StackFrame | undefined): string {
  const message = headline(report)
  const kind = report.status >= 500 ? 'server' : report.status >= 400 ? 'client' : 'other'
  const names = report.exceptions.map(({ name }, i) => html`<li><a href="#exception-${i + 1}">${name}</a></li>`)
  const chain = html`<nav aria-label="Chain of exceptions, root cause first"><ol class="chain">!${names}</ol></nav>`
  return html`<header class="band ${kind}"><div class="wrap">
<div class="top">
<p class="status"><strong>${report.status}</strong> ${visibleLine(report.reason)}</p>!${theme.render()}
</div>
<h1 class="${message.length > LONG_HEADLINE ? 'long' : 'short'}">${cut(message, MAX_HEADLINE)}</h1>
!${names.length > 1 ? chain : ''}
<ul class="facts">
!${facts(report, frame)}
<li class="copies-of"><a href="#as-markdown" data-copies="as-markdown">Copy as Markdown</a>
<a href="#stack-traces" data-copies="text">Copy as text</a></li>
</ul>
</div></header>`
}

function facts (report: ErrorReport, frame: StackFrame | undefined): string[] {
  const { request, raisedBy, controller, profile } = report
  const target = cut(visibleLine(`${request.method} ${request.url.replace(/^[a-z]+:\/\/[^/]*/i, '')}`), MAX_TARGET)
  const url = profileUrl(report)
  return [
    html`<li><a href="#request"><code>${target}</code></a></li>`,
    raisedBy &&
      html`<li class="raiser">raised by <code>${raisedBy.listener}</code> in <code>${raisedBy.stage}</code></li>`,
    controller && html`<li class="controller">handled by <code>${visibleLine(controller.name)}</code></li>`,
    frame && !frame.excerpt && html`<li class="culprit">in <code>${placeOf(frame)}</code></li>`,
    url && html`<li>profile <a href="${url}"><code>${profile?.token}</code></a></li>`
  ].filter((fact) => typeof fact === 'string')
}

function navigation (report: ErrorReport): string {
  const { lines, failures } = logCounts(report)
  const traces = everyException(report.exceptions).length
  return html`<nav class="sections" aria-label="Sections"><ul class="wrap">
<li><a href="#exceptions">Exceptions <span class="count">${report.exceptions.length}</span></a></li>
<li><a href="#logs">Logs <span class="count!${failures > 0 ? ' bad' : ''}">${grouped(lines)}</span></a></li>
<li><a href="#stack-traces">Stack Traces <span class="count">${traces}</span></a></li>
<li><a href="#request">Request</a></li>
</ul></nav>`
}

function hintCard ({ title, text, code, routes }: Hint): string {
  const items = routes?.map(({ methods, pattern, why }) =>
    html`<li><code><b>${methods.join(', ')}</b> ${pattern}</code> <span>${why}</span></li>`)
  return html`<div class="hint card">
<h2>${title}</h2>
<p>${text}</p>
!${items === undefined ? '' : html`<ul class="routes">!${items}</ul>`}
!${code === undefined ? '' : html`<pre data-copy="Copy"><code>${code}</code></pre>`}
</div>`
}

function lifecycle (report: ErrorReport): string {
  if (report.lifecycle === undefined) return ''
  const url = profileUrl(report)
  const link = url === undefined ? '' : html` <a href="${url}?panel=events">All steps are in the profile.</a>`
  return html`<p class="lifecycle note">${report.lifecycle}!${link}</p>`
}

function request ({ request: { method, url, ip, headers } }: ErrorReport): string {
  const line = (text: string): string => visibleLine(cut(text, MAX_VALUE))
  return html`<aside id="request" class="request wrap" aria-labelledby="request-title">
<h2 id="request-title">Request</h2>
<dl class="card">
<div><dt>Method</dt><dd class="target">${line(method)}</dd></div>
<div><dt>URL</dt><dd class="target">${line(url)}</dd></div>
<div><dt>Client</dt><dd>${line(ip)}</dd></div>
!${headers.map(([name, value]) => html`<div><dt>${line(name)}</dt><dd>${line(value)}</dd></div>
`)}
</dl>
</aside>`
}
