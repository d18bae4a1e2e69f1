import { mainCause } from '../errors/exception.js'
import type { Hint } from '../errors/hints.js'
import type { ErrorReport } from '../errors/report.js'
import { frameAt, placeOf } from '../errors/stack-frame.js'
import type { Nonces } from '../http/responses.js'
import { readAsset } from '../view/asset.js'
import {
  counted, cut, grouped, html, htmlPage, oneLine, SafeHtml, visibleLine, type HtmlValue
} from '../view/text.js'
import type { EditorLink } from '../view/editor.js'
import {
  fileLink, renderExceptions, renderFields, renderSource, renderStackTraces, style as exceptionsStyle
} from './exceptions.js'
import {
  chainLines, everyException, headline, logCounts, mainSource, profileUrl, renderText
} from './render-text.js'
import { logTable, style as logsStyle } from './logs.js'
import { rejectedCard, renderRequest } from './render-request.js'
import { isNotification } from '../logs/log-record.js'

/** A message of which the headline is the beginning: the source below it stays on the first screen. */
const LONG_MESSAGE = /\n.*\n|^.{200}|^(?=.{100}).*\n/s
/** Characters of a message, of its beginning, of a line, of a title, and of the texts of a log line. */
const MAX_HEADLINE = 600
const MAX_FIRST = 110
const MAX_LINE = 200
const MAX_TITLE = 1_000
const MAX_TEXT = 2_000
/** Errors of the chain above the source. */
const MAX_CHAIN = 4

// The text of these elements is no HTML: no character of it is escaped (HTML Standard, section 13.1.2.1).
const BASE_STYLE = readAsset(import.meta.url, '../view/base.css')
const STYLE = new SafeHtml(BASE_STYLE + readAsset(import.meta.url, './page.css') + exceptionsStyle + logsStyle)
const SCRIPT = new SafeHtml(
  readAsset(import.meta.url, '../view/copy-button.js') + readAsset(import.meta.url, './page.js')
)
/** The header of the answers of a start that has failed: its process. */
export const FAILED_START = 'x-failed-start'
const RELOAD = new SafeHtml(`setInterval(() => fetch('/_profiler/', { method: 'HEAD' }).then(({ headers }) => {
  if (headers.get('${FAILED_START}') !== '${process.pid}') location.reload()
}, () => {}), 500)`)

/** The diagnostic page. It is complete without its script. All text of the report is escaped. */
export function renderHtml (report: ErrorReport, nonce: Nonces, editor: EditorLink | null): SafeHtml {
  const title = `${cut(oneLine(headline(report)), MAX_TITLE)} (${report.status} ${report.reason})`
  const source = mainSource(report, report.handler)
  const hints = report.hints.length > 0 &&
    html`<div class="hints">${report.hints.map((hint) => hintCard(hint, editor))}</div>`
  // Without source the hints are the answer.
  const hasSource = source !== null || report.input !== undefined
  const shown = new Set(source === null ? [] : [placeOf(source.frame)])
  const head = html`<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<style nonce="${nonce.style}">${STYLE}</style>
${report.raisedBy?.stage === 'start' && reload(nonce)}`
  return htmlPage(title, head, html`<a class="skip" href="#main">Skip to the content</a>
${band(report)}
${navigation(report)}
<main id="main" class="wrap">
<div class="lead">
${about(report, editor)}
${report.input !== undefined && rejectedCard(report.input)}
${source !== null && renderSource(source.title, source.frame, editor)}
${!hasSource && hints}
</div>
<div class="side">
${hasSource && hints}
${renderRequest(report)}
${differences(report)}
</div>
<div class="rest">
${!isBare(report) && renderExceptions(report.exceptions, { editor, shown })}
${renderLogs(report)}
${!isBare(report) && renderStackTraces(report.exceptions)}
<details class="copies card"><summary><h2>This report as Markdown</h2></summary>
<pre id="as-markdown" tabindex="-1">${renderText(report)}</pre></details>
</div>
</main>
<footer><div class="wrap">Hindsight shows this page in debug mode only.</div></footer>
<script nonce="${nonce.script}">${SCRIPT}</script>`)
}

/** Loads the page again when another process answers: a reload before that would show an error of the browser. */
function reload (nonce: Nonces): SafeHtml {
  return html`<noscript><meta http-equiv="refresh" content="2"></noscript>
<script nonce="${nonce.script}">${RELOAD}</script>`
}

/** Whether the exceptions have nothing besides the headline, such as the error of a request without a route. */
function isBare ({ exceptions }: ErrorReport): boolean {
  return exceptions.every(({ frames, errors, message }) =>
    exceptions.length === 1 && frames.length === 0 && errors === undefined && message.length <= MAX_HEADLINE)
}

function band (report: ErrorReport): SafeHtml {
  return html`<header class="band ${kindOf(report.status)}"><div class="wrap">
<div class="top">
<p class="status"><strong>${report.status}</strong> ${visibleLine(report.reason)}</p>
<ul class="facts">
${facts(report)}
</ul>
<div class="menus"><a class="copies-of" href="#as-markdown" data-copies="as-markdown"${sheetOf(report)}>\
Copy for an AI assistant</a></div>
</div>
<h1>${messageParts(report)[0]}</h1>
${cause(report)}
</div></header>`
}

function kindOf (status: number): string {
  if (status >= 500) return 'server'
  return status >= 400 ? 'client' : 'other'
}

/** The headline, and what is below it of a longer message. */
function messageParts (report: ErrorReport): [first: string, rest: string] {
  const message = cut(headline(report).trimEnd(), MAX_HEADLINE)
  if (!LONG_MESSAGE.test(message)) return [message, '']
  const [, line, rest] = /^(.{1,110})\n([^]*)$/.exec(message) ?? []
  return line === undefined || rest === undefined ? [`${message.slice(0, MAX_FIRST)}…`, message] : [line, rest]
}

/** What happened in one sentence, the errors that were made of the root cause, and its properties. */
function about (report: ErrorReport, editor: EditorLink | null): HtmlValue {
  const [, rest] = messageParts(report)
  const content = [
    rest !== '' && html`<pre tabindex="0">${rest}</pre>`,
    report.summary !== undefined && html`<p class="what">${report.summary}</p>`,
    chain(report, editor),
    renderFields(mainCause(report)?.fields)
  ].filter((one) => one !== false)
  return content.length > 0 && html`<div class="about">${content}</div>`
}

/** The URL of the Markdown of the profile. */
function sheetOf (report: ErrorReport): HtmlValue {
  const url = profileUrl(report)
  return url !== undefined && html` data-sheet="${url}.md"`
}

/** The class of the root cause, its code, and what the members of an AggregateError have in common. */
function cause (report: ErrorReport): HtmlValue {
  const root = mainCause(report)
  if (root === null) return null
  const { name, code, members } = root
  const facts = [code === undefined ? undefined : `code ${code}`, members].filter((fact) => fact !== undefined)
  return html`<p class="cause">${visibleLine(name)} ${facts.map((fact) =>
    html`<span>${visibleLine(cut(fact, MAX_HEADLINE))}</span> `)}</p>`
}

function chain (report: ErrorReport, editor: EditorLink | null): SafeHtml | false {
  const lines = chainLines(report)
  if (lines.length === 0) return false
  const more = lines.length - MAX_CHAIN
  const items = lines.slice(0, MAX_CHAIN).map(({ before, frame, index }) => {
    const { name, message } = report.exceptions[index] as { name: string, message: string }
    const text = visibleLine(cut(message, MAX_LINE))
    const place = frame !== undefined && html`${fileLink(frame, editor)} as `
    return html`<li>${before} ${place}<a href="#exception-${index + 1}">${visibleLine(name)}</a>: ${text}</li>`
  })
  return html`<ol class="chain">${items}${
    more > 0 && html`<li><a href="#exceptions">${grouped(more)} more</a></li>`}</ol>`
}

function facts (report: ErrorReport): HtmlValue {
  const { request, controller, profile } = report
  const target = cut(visibleLine(`${request.method} ${request.url.replace(/^[a-z]+:\/\/[^/]*/i, '')}`), MAX_LINE)
  const url = profileUrl(report)
  return [
    html`<li><a href="#request"><code>${target}</code></a></li>`,
    controller && html`<li class="controller">handled by <code>${visibleLine(controller)}</code></li>`,
    url && html`<li>profile <a href="${url}"><code>${profile?.token}</code></a></li>`
  ]
}

/** The link to the differences from the last success of the route, which the script replaces by the differences. */
function differences (report: ErrorReport): HtmlValue {
  const url = profileUrl(report)
  if (url === undefined || report.handler === undefined) return null
  return html`<div class="differences-of" data-fragment="${url}/differences"><a href="${url}/differences">What changed
since the last success</a></div>`
}

function navigation (report: ErrorReport): SafeHtml {
  const { lines, failures } = logCounts(report)
  const traces = everyException(report.exceptions).length
  const isShort = isBare(report)
  const exceptions = html`Exceptions <span class="count">${report.exceptions.length}</span>`
  return html`<nav class="sections" aria-label="Sections"><ul class="wrap">
${!isShort && html`<li><a href="#exceptions">${exceptions}</a></li>`}
<li><a href="#logs">Logs <span class="count${failures > 0 && ' bad'}">${grouped(lines)}</span></a></li>
${!isShort && html`<li><a href="#stack-traces">Stack Traces <span class="count">${traces}</span></a></li>`}
<li><a href="#request">Request</a></li>
</ul></nav>`
}

function hintCard ({ title, text, code, mark, routes, steps, source }: Hint, editor: EditorLink | null): SafeHtml {
  const linkTo = (source?: string): HtmlValue => source !== undefined && fileLink(frameAt(source), editor)
  const items = routes?.map(({ methods, pattern, why, path, source }) => {
    const route = html`<code><b>${methods.join(', ')}</b> ${pattern}</code>`
    const link = path === undefined ? route : html`<a href="${path}">${route}</a>`
    return html`<li>${link} ${why !== '' && html`<span>${why}</span>`} ${linkTo(source)}</li>`
  })
  const before = steps?.map(({ code, text, source, profile }) => html`<li><code>${code}</code> <span>${text}</span> \
${linkTo(source)} \
${profile !== undefined && html`<a href="${profile}">profile of the called server</a>`}</li>`)
  return html`<div class="hint card">
<h2>${title}</h2>
${text !== '' && html`<p>${text}</p>`}
${source !== undefined && html`<div>${linkTo(source)}</div>`}
${code !== undefined && html`<pre data-copy="Copy"><code>${markedCode(code, mark)}</code></pre>`}
${before !== undefined && html`<ol class="routes">${before}</ol>`}
${items !== undefined && html`<ul class="routes">${items}</ul>`}
</div>`
}

function markedCode (code: string, mark?: number): HtmlValue {
  if (mark === undefined) return code
  // The error may be at the end of the code.
  const [at = ' '] = /^(?:[\w$]+|[^])/.exec(code.slice(mark)) ?? []
  return html`${code.slice(0, mark)}<mark>${at}</mark>${code.slice(mark + at.length)}`
}

/** The section Logs: the lines of the request. */
function renderLogs (report: ErrorReport): SafeHtml {
  const { logs } = report
  const { lines, failures } = logCounts(report)
  const notifications = logs.filter(isNotification).length
  const first = html` <a class="count bad" href="#first-error">${counted(failures, 'error')}<span
class="hidden-visually">: go to the first</span></a>`
  // The notifications of listeners are hidden unless their box is checked.
  const box = html`<label class="event-box"><input type="checkbox" name="event" autocomplete="off"> event
<span class="number">${grouped(notifications)}</span></label>`
  return html`<section id="logs" aria-labelledby="logs-title">
<h2 id="logs-title">Logs <span class="count">${grouped(lines)}</span>${failures > 0 && first}</h2>
${notifications === logs.length && html`<p class="note">No log messages.</p>`}${notifications > 0 && box}${
  omission(report)}${logs.length > 0 && html`<div class="card">${logTable(logs, null, MAX_TEXT)}</div>`}
</section>`
}

function omission (report: ErrorReport): HtmlValue {
  if (report.logsOmitted === undefined) return null
  const url = profileUrl(report)
  const link = url && html` <a href="${url}">The profile of this request</a> has more of them.`
  const lines = counted(report.logsOmitted, 'line is', 'lines are')
  return html`<p class="note omission">${lines} left out here, the oldest and least severe.${link}</p>`
}
