import { asset } from '../../../view/asset.js'
import { html } from '../../../view/html.js'
import { safeJson } from '../../../view/json.js'
import { cut } from '../../../view/visible.js'
import type { LogLevel, LogRecord } from '../../../logs/log-record.js'
import { isFailure, LEVELS, shownLogs, timeOfDay } from '../shared.js'

const MAX_LOGS = 1_000
const MAX_MESSAGE = 4_000
const MAX_CONTEXT = 4_000

/** How the log looks, and its filter by level, which needs no script. */
export const style = asset(import.meta.url, './style.css')

/** The section of logs: the lines of this one request, filtered by level. */
export function render (logs: readonly LogRecord[], profileUrl?: string): string {
  const failures = logs.filter(isFailure).length
  const shown = shownLogs(logs, MAX_LOGS)
  return html`<section id="logs" aria-labelledby="logs-title">
<h2 id="logs-title">Logs <span class="count">${logs.length}</span>!${failures > 0
  ? html` <span class="count bad">${failures} ${failures === 1 ? 'error' : 'errors'}</span>`
  : ''}</h2>
!${logs.length === 0 ? html`<p class="note">No line was logged.</p>` : filter(shown) + omission(logs.length - shown.length, profileUrl) + table(shown)}
</section>`
}

function filter (logs: readonly LogRecord[]): string {
  const thresholds = LEVELS.filter((level) => level !== 'fatal' && logs.some((record) => record.level === level))
  if (thresholds.length < 2) return '<fieldset><legend class="hidden-visually">Filter</legend></fieldset>'
  return html`<fieldset><legend class="hidden-visually">Lines to show</legend>!${thresholds.map((level, i) => html`
<label><input type="radio" name="level" value="${level}"!${i === 0 ? ' checked' : ''}> ${i === 0 ? 'All' : label(level)} <span class="number">${countFrom(level, logs)}</span></label>`)}
</fieldset>`
}

function label (level: LogLevel): string {
  return { trace: 'Traces', debug: 'Debug and up', info: 'Info and up', warn: 'Warnings and up', error: 'Errors', fatal: 'Fatal' }[level]
}

function countFrom (level: LogLevel, logs: readonly LogRecord[]): number {
  return logs.filter((record) => LEVELS.indexOf(record.level) >= LEVELS.indexOf(level)).length
}

function omission (count: number, profileUrl: string | undefined): string {
  if (count === 0) return ''
  const where = profileUrl === undefined ? '' : ' The profile of this request has more of them.'
  return html`<p class="note omission">${count.toLocaleString('en')} lines are left out here: warnings and errors come first, then the latest.${where}</p>`
}

function table (logs: readonly LogRecord[]): string {
  return html`<table class="card">
<thead><tr><th scope="col">Time</th><th scope="col">Level</th><th scope="col">Channel</th><th scope="col">Message</th></tr></thead>
<tbody>!${logs.map(row)}</tbody>
</table>`
}

function row (record: LogRecord): string {
  const keys = Object.keys(record.context)
  const context = keys.length === 0
    ? ''
    : html`<details><summary>${cut(keys.join(', '), 80)}</summary><pre>${cut(safeJson(record.context, 2), MAX_CONTEXT)}</pre></details>`
  return html`<tr class="${record.level}"><td><time datetime="${record.time}">${timeOfDay(record.time)}</time></td><td><span class="level">${record.level}</span></td><td>${record.channel}</td><td><span class="text">${cut(record.message, MAX_MESSAGE)}</span>!${context}</td></tr>
`
}
