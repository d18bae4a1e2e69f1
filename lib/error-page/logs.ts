import type { ErrorReport } from '../errors/report.js'
import { isErrorOrWorse, isNotification, LEVELS, type LogLevel, type LogRecord } from '../logs/log-record.js'
import { counted, grouped } from '../view/counted.js'
import { html } from '../view/html.js'
import { safeJson } from '../view/json.js'
import { cut, timeOfDay } from '../view/visible.js'
import { logCounts, profileUrl } from './report-facts.js'

/** Characters of one message or context. */
const MAX_TEXT = 2_000
/** Characters of all messages and contexts in full; those after it are cut to SHORT. */
const MAX_ALL_TEXT = 400_000
const SHORT = 300
const LABELS: Readonly<Record<LogLevel, string>> = {
  trace: 'Traces', debug: 'Debug and up', info: 'Info and up', warn: 'Warnings and up', error: 'Errors', fatal: 'Fatal'
}

/** The section Logs: the lines of the request. Its filters are CSS. */
export function renderLogs (report: ErrorReport): string {
  const { logs } = report
  const { lines, failures } = logCounts(report)
  const notifications = logs.filter(isNotification)
  const others = logs.filter((line) => !isNotification(line))
  const first = html` <a class="count bad" href="#first-error">${counted(failures, 'error')}<span
class="hidden-visually">: go to the first</span></a>`
  const content = html`<div class="filters">
!${levelFilter(others)}!${eventBox(notifications.length)}</div>
!${omission(report)}!${tableOf(logs)}`
  const none = others.length === 0 ? '<p class="note">No log messages.</p>' : ''
  return html`<section id="logs" aria-labelledby="logs-title">
<h2 id="logs-title">Logs <span class="count">${grouped(lines)}</span>!${failures === 0 ? '' : first}</h2>
!${none}!${logs.length === 0 ? '' : content}
</section>`
}

function levelFilter (logs: readonly LogRecord[]): string {
  const levels = LEVELS.filter((level) => level !== 'fatal' && logs.some((record) => record.level === level))
  if (levels.length < 2) return ''
  return html`<fieldset><legend>Level</legend>!${levels.map((level, i) => {
    const count = logs.filter((record) => LEVELS.indexOf(record.level) >= LEVELS.indexOf(level)).length
    const label = i === 0 ? 'All' : LABELS[level]
    return html`
<label><input type="radio" name="level" value="${level}"!${i === 0 ? ' checked' : ''}> ${label}
<span class="number">${grouped(count)}</span></label>`
  })}
</fieldset>`
}

// The notifications of listeners are hidden unless their box is checked.
function eventBox (notifications: number): string {
  if (notifications === 0) return ''
  return html`<label><input type="checkbox" name="event" autocomplete="off"> event
<span class="number">${grouped(notifications)}</span></label>`
}

function omission (report: ErrorReport): string {
  if (report.logsOmitted === undefined) return ''
  const url = profileUrl(report)
  const link = url === undefined ? '' : html` <a href="${url}">The profile of this request</a> has more of them.`
  const lines = counted(report.logsOmitted.lines, 'line is', 'lines are')
  const order = 'warnings and errors come first, then the latest'
  return html`<p class="note omission">${lines} left out here: ${order}.!${link}</p>`
}

function tableOf (logs: readonly LogRecord[]): string {
  const first = logs.find(isErrorOrWorse)
  let left = MAX_ALL_TEXT
  const rows = logs.map((record) => {
    const { time, level, channel } = record
    const content = contentOf(record, left > 0 ? MAX_TEXT : SHORT)
    left -= content.length
    const classes = isNotification(record) ? `${level} event` : level
    return html`<tr class="${classes}"!${record === first ? ' id="first-error"' : ''}>
<td><span class="time">${timeOfDay(time)}</span></td><td><b>${level}</b></td>
<td>${channel}</td><td>!${content}</td></tr>
`
  })
  return html`<table class="card">
<thead><tr>!${['Time', 'Level', 'Channel', 'Message'].map((name) => `<th scope="col">${name}</th>`)}</tr></thead>
<tbody>!${rows}</tbody>
</table>`
}

function contentOf ({ message, context }: LogRecord, max: number): string {
  const names = Object.keys(context)
  const text = html`<span>${cut(message, max)}</span>`
  if (names.length === 0) return text
  return html`!${text}
<details><summary>${cut(names.join(', '), 80)}</summary><pre>${cut(contextText(context), max)}</pre></details>`
}

/** The fields of a line as JSON, with the line breaks of their texts, such as stacks. */
function contextText (context: LogRecord['context']): string {
  return safeJson(context, 2).replace(/(?<!\\)((?:\\\\)*)\\n/g, '$1\n      ')
}
