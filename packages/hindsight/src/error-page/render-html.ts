import { mainCause } from '../errors/exception.js'
import type { Hint } from '../errors/hints.js'
import { frameAt, placeOf } from '../errors/stack-frame.js'
import type { Nonces } from '../http/responses.js'
import { readAsset } from '../view/asset.js'
import {
  formatCount, cutText, formatInteger, html, htmlPage, oneLine, presentItems, SafeHtml, unbrokenUnits, visibleLine,
  type HtmlValue
} from '../view/text.js'
import type { EditorLink } from '../view/editor.js'
import {
  fileLink, renderExceptions, renderFields, renderSource, renderStackTraces, style as exceptionsStyle, valuesKey
} from './exceptions.js'
import {
  chainLines, everyException, reportHeadline, logCounts, mainSource, renderText
} from './render-text.js'
import { reasonOf, rejectedIn, summaryIn, type FailureProfile } from './failure-profile.js'
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
/** Warnings, and calls or queries before a failure; earlier ones are folded. */
const MAX_ITEMS = 3
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

/** The diagnostic page. It is complete without its script. All text of the failure is escaped. */
export function renderHtml (failure: FailureProfile, nonce: Nonces, editor: EditorLink | null): SafeHtml {
  const title = `${cutText(oneLine(reportHeadline(failure)), MAX_TITLE)} (${failure.status} ${reasonOf(failure)})`
  const source = mainSource(failure)
  const cards = (list: readonly Hint[]): HtmlValue =>
    list.length > 0 && html`<div class="hints">${list.map((hint) => hintCard(hint, editor))}</div>`
  const rejected = rejectedIn(failure)
  // Without source the hints are the answer.
  const hasSource = source !== null || rejected?.fields !== undefined
  const [first, ...more] = failure.hints
  const answers = hasSource ? [] : presentItems([first, ...more.filter(({ code }) => code === undefined)])
  const others = failure.hints.filter((hint) => !answers.includes(hint))
  const headline = failure.isObserved === true ? reportHeadline(failure) : undefined
  const background = [
    warningsCard(failure, editor),
    cards(others.filter(({ isBackground }) => isBackground === true)),
    renderRequest(failure)
  ]
  const shown = new Set<string>()
  if (source !== null) {
    for (const one of [placeOf(source.frame), ...source.values.map(valuesKey)]) shown.add(one)
  }
  const head = html`<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<style nonce="${nonce.style}">${STYLE}</style>
${failure.raisedBy?.stage === 'start' && reload(nonce)}`
  return htmlPage(title, head, html`<a class="skip" href="#main">Skip to the content</a>
${band(failure)}
${navigation(failure)}
<main id="main" class="wrap">
<div class="lead">
${about(failure, editor)}
${rejected?.fields !== undefined && rejectedCard(rejected)}
${source !== null && renderSource(source, editor)}
${cards(answers)}
</div>
<div class="side">
${cards(others.filter(({ isBackground }) => isBackground !== true))}
${failure.hasSuccess !== true && background}
${differences(failure)}
</div>
<div class="rest">
${failure.hasSuccess === true && background}
${!isBare(failure) && renderExceptions(failure.exceptions, { editor, shown, headline })}
${renderLogs(failure)}
${!isBare(failure) && renderStackTraces(failure.exceptions, failure.isObserved !== true)}
<details class="copies card"><summary><h2>This report as Markdown</h2></summary>
<pre id="as-markdown" tabindex="-1">${renderText(failure)}</pre></details>
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
function isBare ({ exceptions }: FailureProfile): boolean {
  return exceptions.every(({ frames, errors, message }) =>
    exceptions.length === 1 && frames.length === 0 && errors === undefined && message.length <= MAX_HEADLINE)
}

function band (failure: FailureProfile): SafeHtml {
  return html`<header class="band ${kindOf(failure.status)}"><div class="wrap">
<div class="top">
<p class="status"><strong>${failure.status}</strong> ${visibleLine(reasonOf(failure))}</p>
<ul class="facts">
${facts(failure)}
</ul>
<div class="menus"><a class="copies-of" href="#as-markdown" data-copies="as-markdown"${sheetOf(failure)}>\
Copy for an AI assistant</a></div>
</div>
<h1>${messageParts(failure)[0]}</h1>
${cause(failure)}
</div></header>`
}

function kindOf (status: number): string {
  if (status >= 500) return 'server'
  if (status >= 400) return 'client'
  return 'other'
}

/** The headline, and what is below it of a longer message. */
function messageParts (failure: FailureProfile): [first: string, rest: string] {
  const message = cutText(reportHeadline(failure).trimEnd(), MAX_HEADLINE)
  if (!LONG_MESSAGE.test(message)) return [message, '']
  const [, line, rest] = /^(.{1,110})\n([^]*)$/.exec(message) ?? []
  if (line === undefined || rest === undefined) return [`${message.slice(0, MAX_FIRST)}…`, message]
  return [line, rest]
}

/** What happened in one sentence, the errors that were made of the root cause, and its properties. */
function about (failure: FailureProfile, editor: EditorLink | null): HtmlValue {
  const [, rest] = messageParts(failure)
  const { summary } = summaryIn(failure)
  const content = [
    rest !== '' && html`<pre tabindex="0">${rest}</pre>`,
    summary !== undefined && html`<p class="what">${summary}</p>`,
    chain(failure, editor),
    renderFields(mainCause(failure)?.fields)
  ].filter((one) => one !== false)
  return content.length > 0 && html`<div class="about">${content}</div>`
}

/** The URL of the Markdown of the profile. */
function sheetOf ({ profileUrl }: FailureProfile): HtmlValue {
  return profileUrl !== undefined && html` data-sheet="${profileUrl}.md"`
}

/** The class of the root cause, its code, and what the members of an AggregateError have in common. */
function cause (failure: FailureProfile): HtmlValue {
  const root = mainCause(failure)
  if (root === null) return null
  const { name, code, members } = root
  const facts = [code && `code ${code}`, members].filter((fact) => fact !== undefined)
  // The class that Hindsight has for a request without a route has the words of the status.
  const isStatus = name === `${reasonOf(failure).replaceAll(' ', '')}Error`
  if (failure.isObserved === true && isStatus && facts.length === 0) return null
  return html`<p class="cause">${visibleLine(name)} ${facts.map((fact) =>
    html`<span>${visibleLine(cutText(fact, MAX_HEADLINE))}</span> `)}</p>`
}

function chain (failure: FailureProfile, editor: EditorLink | null): SafeHtml | false {
  const lines = chainLines(failure)
  if (lines.length === 0) return false
  const more = lines.length - MAX_CHAIN
  const items = lines.slice(0, MAX_CHAIN).map(({ before, frame, index }) => {
    const { name, message } = failure.exceptions[index] as { name: string, message: string }
    const text = visibleLine(cutText(message, MAX_LINE))
    const place = frame !== undefined && html`${fileLink(frame, editor)} as `
    return html`<li>${before} ${place}<a href="#exception-${index + 1}">${visibleLine(name)}</a>: ${text}</li>`
  })
  return html`<ol class="chain">${items}${
    more > 0 && html`<li><a href="#exceptions">${formatCount(more, 'more error')}</a></li>`}</ol>`
}

function facts (failure: FailureProfile): HtmlValue {
  const { method, url, route, token, profileUrl } = failure
  const target = cutText(visibleLine(`${method} ${url.replace(/^[a-z]+:\/\/[^/]*/i, '')}`), MAX_LINE)
  return [
    html`<li><a href="#request"><code>${target}</code></a></li>`,
    route?.controller && html`<li class="controller">handled by <code>${visibleLine(route.controller)}</code></li>`,
    profileUrl && html`<li>profile <a href="${profileUrl}"><code>${token}</code></a></li>`
  ]
}

/**
 * The link to the differences from the last success of the route, which the script replaces by the differences. Nothing
 * moves: in a wide window nothing is below them in their column, in others their height is fixed.
 */
function differences (failure: FailureProfile): HtmlValue {
  const url = `${failure.profileUrl}/differences`
  if (failure.profileUrl === undefined || summaryIn(failure).handler === undefined) return null
  const card = failure.hasSuccess === true && ' card hint'
  return html`<div class="differences-of${card}" data-fragment="${url}">\
<a href="${url}">What changed since the last success</a></div>`
}

/** The last warnings of the application in the log. */
function warningsCard ({ logs }: FailureProfile, editor: EditorLink | null): HtmlValue {
  const warnings = logs.filter(({ level, channel }) => level === 'warn' && channel !== 'request')
  const items = warnings.slice(-MAX_ITEMS).map(({ message, source }) => {
    const place = source !== undefined && html` ${fileLink(frameAt(source), editor)}`
    return html`<li>${cutText(visibleLine(message), MAX_LINE)}${place}</li>`
  })
  const title = warnings.length > items.length ? `The last ${MAX_ITEMS} of ${warnings.length} warnings` : 'Warnings'
  return items.length > 0 && html`<div class="hint warnings card"><h2>${title}</h2>
<ul class="routes">${items}</ul></div>`
}

function navigation (failure: FailureProfile): SafeHtml {
  const { lines, failures } = logCounts(failure)
  const traces = everyException(failure.exceptions).length
  const isShort = isBare(failure)
  const exceptions = html`Exceptions <span class="count">${failure.exceptions.length}</span>`
  return html`<nav class="sections" aria-label="Sections"><ul class="wrap">
${!isShort && html`<li><a href="#exceptions">${exceptions}</a></li>`}
<li><a href="#logs">Logs <span class="count${failures > 0 && ' bad'}">${formatInteger(lines)}</span></a></li>
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
${profile !== undefined && html`<a href="${profile}">profile of the called server</a>`}</li>`) ?? []
  const earlier = before.slice(0, -MAX_ITEMS)
  return html`<div class="hint card">
<h2>${title}</h2>
${text !== '' && html`<p>${unbrokenUnits(text)}</p>`}
${source !== undefined && html`<div>${linkTo(source)}</div>`}
${code !== undefined && html`<pre data-copy="Copy"><code>${markedCode(code, mark)}</code></pre>`}
${earlier.length > 0 && html`<details><summary>${formatInteger(earlier.length)} earlier</summary>
<ol class="routes">${earlier}</ol></details>`}
${before.length > 0 && html`<ol class="routes">${before.slice(-MAX_ITEMS)}</ol>`}
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
function renderLogs (failure: FailureProfile): SafeHtml {
  const { logs } = failure
  const { lines, failures } = logCounts(failure)
  const notifications = logs.filter(isNotification).length
  const first = html` <a class="count bad" href="#first-error">${formatCount(failures, 'error')}<span
class="hidden-visually">: go to the first</span></a>`
  // The notifications of listeners are hidden unless their box is checked.
  const box = html`<label class="event-box"><input type="checkbox" name="event" autocomplete="off"> event
<span class="number">${formatInteger(notifications)}</span></label>`
  return html`<section id="logs" aria-labelledby="logs-title">
<h2 id="logs-title">Logs <span class="count">${formatInteger(lines)}</span>${failures > 0 && first}</h2>
${notifications === logs.length && html`<p class="note">No log messages.</p>`}${notifications > 0 && box}${
  omission(failure)}${logs.length > 0 && html`<div class="card">${logTable(logs, null, MAX_TEXT)}</div>`}
</section>`
}

function omission (failure: FailureProfile): HtmlValue {
  if (failure.logsOmitted === undefined) return null
  const { profileUrl } = failure
  const link = profileUrl && html` <a href="${profileUrl}">The profile of this request</a> has more of them.`
  const lines = formatCount(failure.logsOmitted, 'line is', 'lines are')
  return html`<p class="note omission">${lines} left out here, the oldest and least severe.${link}</p>`
}
