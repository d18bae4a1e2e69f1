import type { ErrorReport } from '../errors/report.js'
import { isErrorOrWorse, isNotification, type LogRecord } from '../logs/log-record.js'
import { counted, grouped } from '../view/counted.js'
import { html } from '../view/html.js'
import { safeJson } from '../view/json.js'
import { cut, timeOfDay } from '../view/visible.js'
import { logCounts, profileUrl } from './report-facts.js'

/** Characters of one message or context. */
const MAX_TEXT = 2_000

/** The section Logs: the lines of the request. */
export function renderLogs (report: ErrorReport): string {
  const { logs } = report
  const { lines, failures } = logCounts(report)
  const notifications = logs.filter(isNotification)
  const first = html` <a class="count bad" href="#first-error">${counted(failures, 'error')}<span
class="hidden-visually">: go to the first</span></a>`
  const content = `${eventBox(notifications.length)}${omission(report)}${tableOf(logs)}`
  const none = notifications.length === logs.length ? '<p class="note">No log messages.</p>' : ''
  return html`<section id="logs" aria-labelledby="logs-title">
<h2 id="logs-title">Logs <span class="count">${grouped(lines)}</span>!${failures === 0 ? '' : first}</h2>
!${none}!${logs.length === 0 ? '' : content}
</section>`
}

// The notifications of listeners are hidden unless their box is checked.
function eventBox (notifications: number): string {
  if (notifications === 0) return ''
  return html`<label class="event-box"><input type="checkbox" name="event" autocomplete="off"> event
<span class="number">${grouped(notifications)}</span></label>`
}

function omission (report: ErrorReport): string {
  if (report.logsOmitted === undefined) return ''
  const url = profileUrl(report)
  const link = url === undefined ? '' : html` <a href="${url}">The profile of this request</a> has more of them.`
  const lines = counted(report.logsOmitted.lines, 'line is', 'lines are')
  return html`<p class="note omission">${lines} left out here, the oldest and least severe.!${link}</p>`
}

function tableOf (logs: readonly LogRecord[]): string {
  const first = logs.find(isErrorOrWorse)
  const rows = logs.map((record) => {
    const { time, level, channel } = record
    const classes = isNotification(record) ? `${level} event` : level
    return html`<tr class="${classes}"!${record === first ? ' id="first-error"' : ''}>
<td><span class="time">${timeOfDay(time)}</span></td><td><b>${level}</b></td>
<td>${channel}</td><td>!${contentOf(record)}</td></tr>
`
  })
  return html`<table class="card">
<thead><tr>!${['Time', 'Level', 'Channel', 'Message'].map((name) => `<th scope="col">${name}</th>`)}</tr></thead>
<tbody>!${rows}</tbody>
</table>`
}

function contentOf ({ message, context }: LogRecord): string {
  const names = Object.keys(context)
  const text = html`<span>${cut(message, MAX_TEXT)}</span>`
  if (names.length === 0) return text
  return html`!${text}
<details><summary>${cut(names.join(', '), 80)}</summary><pre>${cut(contextText(context), MAX_TEXT)}</pre></details>`
}

/** The fields of a line as JSON, with the line breaks of their texts, such as stacks. */
function contextText (context: LogRecord['context']): string {
  return safeJson(context, 2).replace(/(?<!\\)((?:\\\\)*)\\n/g, '$1\n      ')
}
