import type { FlattenedException } from '../errors/exception.js'
import type { ErrorReport } from '../errors/report.js'
import { isErrorOrWorse, LEVELS, type LogLevel, type LogRecord } from '../logs/log-record.js'
import { counted, grouped } from '../view/counted.js'
import { html } from '../view/html.js'
import { safeJson } from '../view/json.js'
import { cut } from '../view/visible.js'
import { failureCount, lineCount, timeOfDay } from './shared.js'

/** Characters of one message or context. */
const MAX_TEXT = 4_000
/** Characters of all messages and contexts in full; those after it are cut to SHORT. */
const MAX_ALL_TEXT = 400_000
const SHORT = 300
/** Channels beyond these share the last switch; page.css has a rule for each. */
const MAX_CHANNELS = 6
const LABELS: Readonly<Record<LogLevel, string>> = {
  trace: 'Traces', debug: 'Debug and up', info: 'Info and up', warn: 'Warnings and up', error: 'Errors', fatal: 'Fatal'
}

/** The section Logs: the lines of the request. The filters by level and channel are CSS, that by text is a script. */
export function renderLogs (report: ErrorReport): string {
  const { logs, exceptions } = report
  const count = lineCount(report)
  const failures = failureCount(report)
  const first = html` <a class="count bad" href="#first-error">${counted(failures, 'error')}<span
class="hidden-visually">: go to the first</span></a>`
  const table = (): string => filters(logs) + omission(report) + tableOf(logs, exceptions)
  return html`<section id="logs" aria-labelledby="logs-title">
<h2 id="logs-title">Logs <span class="count">${grouped(count)}</span>!${failures === 0 ? '' : first}</h2>
!${logs.length === 0 ? '<p class="note">No line was logged.</p>' : table()}
</section>`
}

function filters (logs: readonly LogRecord[]): string {
  return `<div class="filters">${levelFilter(logs)}${channelFilter(logs)}
<label class="find">Containing <input type="search"></label></div>`
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

function channelFilter (logs: readonly LogRecord[]): string {
  const names = channelsOf(logs)
  if (names.length < 2) return ''
  const last = MAX_CHANNELS - 1
  const rest = names.length > MAX_CHANNELS ? [counted(names.length - last, 'other')] : names.slice(last)
  return html`<fieldset><legend>Channels</legend>!${[...names.slice(0, last), ...rest].map((name, i) => html`
<label><input type="checkbox" name="c${i}" checked> ${cut(name, 40)}</label>`)}
</fieldset>`
}

function channelsOf (logs: readonly LogRecord[]): string[] {
  return [...new Set(logs.map(({ channel }) => channel))]
}

function omission ({ logsOmitted, profile }: ErrorReport): string {
  if (logsOmitted === undefined) return ''
  const link = profile === undefined || !/^(https?:\/\/|\/)/.test(profile.url)
    ? ''
    : html` <a href="${profile.url}">The profile of this request</a> has more of them.`
  const lines = counted(logsOmitted.lines, 'line is', 'lines are')
  const order = 'warnings and errors come first, then the latest'
  return html`<p class="note omission">${lines} left out here: ${order}.!${link}</p>`
}

function tableOf (logs: readonly LogRecord[], exceptions: readonly FlattenedException[]): string {
  const channels = new Map(channelsOf(logs).map((name, i) => [name, Math.min(i, MAX_CHANNELS - 1)]))
  const first = logs.find(isErrorOrWorse)
  let left = MAX_ALL_TEXT
  const rows = logs.map((record) => {
    const { level, channel } = record
    const content = contentOf(record, left > 0 ? MAX_TEXT : SHORT, exceptions)
    left -= content.length
    return html`<tr class="${level} c${channels.get(channel)}"!${record === first ? ' id="first-error"' : ''}>
<td><span class="time">${timeOfDay(record.time)}</span></td><td><b>${level}</b></td>
<td>${channel}</td><td>!${content}</td></tr>
`
  })
  return html`<table class="card">
<thead><tr>!${['Time', 'Level', 'Channel', 'Message'].map((name) => `<th scope="col">${name}</th>`)}</tr></thead>
<tbody>!${rows}</tbody>
</table>`
}

function contentOf ({ message, context }: LogRecord, max: number, exceptions: readonly FlattenedException[]): string {
  const names = Object.keys(context)
  if (names.length === 0) return html`<span>${cut(message, max)}</span>`
  const json = safeJson(withoutKnownStack(context, exceptions), 2)
  return html`<span>${cut(message, max)}</span>
<details><summary>${cut(names.join(', '), 80)}</summary><pre>${cut(json, max)}</pre></details>`
}

// A stack that the page has under Stack Traces is shortened.
function withoutKnownStack (context: LogRecord['context'], exceptions: readonly FlattenedException[]): object {
  const { err } = context as { err?: { stack?: unknown } | null }
  const stack = err?.stack
  if (typeof stack !== 'string') return context
  if (!exceptions.some((exception) => exception.stack !== '' && stack.startsWith(exception.stack))) return context
  return { ...context, err: { ...err, stack: `${stack.split('\n', 2).join('\n')}\n    … (see Stack Traces)` } }
}
