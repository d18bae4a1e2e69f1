import { style as readStyle } from '../../view/style.js'
import { html, text } from '../../view/html.js'
import { KeptMarkup, type Part } from '../../view/parts.js'
import { safeJson } from '../../view/json.js'
import { cut } from '../../view/visible.js'
import { LimitedMap } from '../../lifecycle/limited-map.js'
import { foremost, isFailure } from '../../logs/foremost.js'
import type { LogLevel, LogRecord } from '../../logs/log-record.js'
import type { FlattenedException } from '../../errors/exception.js'
import { MAX_LOGS, type ErrorReport } from '../../errors/report.js'
import { failureCount, LEVELS, lineCount, timeOfDay } from '../shared.js'
import { counted, grouped } from '../../view/counted.js'

const MAX_MESSAGE = 4_000
const MAX_CONTEXT = 4_000
/** Characters of messages and contexts that a page carries in full; behind them both are cut short. */
const MAX_TEXT = 400_000
const SHORT = 300
// So many channels have a switch of their own; the others share the last one.
const MAX_CHANNELS = 10
const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** How the log looks, and its filters by level and channel and the two clocks, which need no script. */
export const style = readStyle(import.meta.url, './style.css') + Array.from({ length: MAX_CHANNELS }, (_, i) =>
  `#logs:has([name=c${i}]:not(:checked)) .c${i}`).join(', ') + ' { display: none }'

/** The section of logs: the lines of this one request, filtered by level, channel and text. */
export function render (report: ErrorReport): Part[] {
  const { logs, started, profile, exceptions } = report
  const count = lineCount(report)
  const failures = failureCount(report)
  const shown = foremost(logs, MAX_LOGS)
  return [html`<section id="logs" aria-labelledby="logs-title">
<h2 id="logs-title">Logs <span class="count">${grouped(count)}</span>!${failures > 0
  ? html` <a class="count bad" href="#first-error">${counted(failures, 'error')}<span class="hidden-visually">: go to the first</span></a>`
  : ''}</h2>
`, ...logs.length === 0
    ? ['<p class="note">No line was logged.</p>']
    : [filters(shown), omission(count - shown.length, profile?.url), ...table(shown, started, exceptions)], '\n</section>']
}

function filters (logs: readonly LogRecord[]): string {
  return `<div class="filters">${levels(logs)}${channels(logs)}<fieldset><legend>Time</legend>
<label><input type="radio" name="time" value="day" checked> of day</label>
<label><input type="radio" name="time" value="after"> since the request</label></fieldset>
<label class="find">Containing <input type="search"></label></div>`
}

function levels (logs: readonly LogRecord[]): string {
  const counts = LEVELS.map((level) => logs.filter((record) => record.level === level).length)
  const thresholds = LEVELS.filter((level, i) => level !== 'fatal' && (counts[i] as number) > 0)
  if (thresholds.length < 2) return ''
  return html`<fieldset><legend>Level</legend>!${thresholds.map((level, i) => html`
<label><input type="radio" name="level" value="${level}"!${i === 0 ? ' checked' : ''}> ${i === 0 ? 'All' : label(level)} <span class="number">${grouped(counts.slice(LEVELS.indexOf(level)).reduce((sum, count) => sum + count, 0))}</span></label>`)}
</fieldset>`
}

function label (level: LogLevel): string {
  return { trace: 'Traces', debug: 'Debug and up', info: 'Info and up', warn: 'Warnings and up', error: 'Errors', fatal: 'Fatal' }[level]
}

function channels (logs: readonly LogRecord[]): string {
  const names = channelsOf(logs)
  if (names.length < 2) return ''
  const last = MAX_CHANNELS - 1
  const listed = names.length > MAX_CHANNELS ? [...names.slice(0, last), counted(names.length - last, 'other')] : names
  return html`<fieldset><legend>Channels</legend>!${listed.map((name, i) => html`
<label><input type="checkbox" name="c${i}" checked> ${cut(name, 40)}</label>`)}
</fieldset>`
}

function channelsOf (logs: readonly LogRecord[]): string[] {
  return [...new Set(logs.map(({ channel }) => channel))]
}

function omission (count: number, profileUrl: string | undefined): string {
  if (count === 0) return ''
  const where = profileUrl === undefined || !/^(https?:\/\/|\/)/.test(profileUrl) ? '' : html` <a href="${profileUrl}">The profile of this request</a> has more of them.`
  return html`<p class="note omission">${counted(count, 'line is', 'lines are')} left out here: warnings and errors come first, then the latest.!${where}</p>`
}

function table (logs: readonly LogRecord[], started: string | undefined, exceptions: readonly FlattenedException[]): Part[] {
  const numbers = new Map(channelsOf(logs).map((name, i) => [name, Math.min(i, MAX_CHANNELS - 1)]))
  const begin = Date.parse(started ?? logs[0]?.time ?? '')
  const first = logs.find(isFailure)
  let left = MAX_TEXT
  const rows: Part[] = [`<table class="card">
<thead><tr><th scope="col">Time</th><th scope="col">Level</th><th scope="col">Channel</th><th scope="col">Message</th></tr></thead>
<tbody>`]
  let time = ''
  let cell = ''
  for (const record of logs) {
    if (record.time !== time) cell = timeCell(time = record.time, begin)
    const body = bodyOf(record, left > 0, exceptions)
    left -= typeof body === 'string' ? body.length : body.octets.length
    rows.push(`<tr class="${record.level} c${numbers.get(record.channel) ?? 0}"${record === first ? ' id="first-error"' : ''}><td>${cell}</td>`, body, '</tr>\n')
  }
  rows.push('</tbody>\n</table>')
  return rows
}

function timeCell (time: string, begin: number): string {
  const after = ISO.test(time) ? Date.parse(time) - begin : NaN
  const told = Number.isNaN(after) ? '' : `${after < 0 ? '−' : '+'}${grouped(Math.abs(after))} ms`
  return Number.isNaN(after)
    ? `<span>${text(timeOfDay(time))}</span>`
    : `<time>${text(timeOfDay(time))}</time><span class="after">${told}</span>`
}

// Lines that say nothing of their request, such as the notifications of the lifecycle, are the same on every page.
const known = new LimitedMap<string>(500, 100_000)

function bodyOf (record: LogRecord, whole: boolean, exceptions: readonly FlattenedException[]): Part {
  if (record.message.length > SHORT || Object.keys(record.context).length > 0) return contextBody(record, whole, exceptions)
  const key = `${record.level} ${record.channel}\n${record.message}`
  const seen = known.get(key)
  if (seen !== undefined) return seen
  const markup = cells(record, whole, false)
  known.set(key, markup)
  return markup
}

interface Body extends Pick<LogRecord, 'level' | 'channel' | 'message'> {
  whole: boolean
  told: boolean
  markup: Part
}

// Lines that say the same have the same context.
const bodies = new WeakMap<object, Body>()

function contextBody (record: LogRecord, whole: boolean, exceptions: readonly FlattenedException[]): Part {
  const { level, channel, message, context } = record
  const told = isStackTold(context, exceptions)
  const seen = bodies.get(context)
  if (seen?.whole === whole && seen.told === told && seen.level === level && seen.channel === channel && seen.message === message) return seen.markup
  const cellsOf = cells(record, whole, told)
  // Only what stands for a stack comes again.
  const markup = told ? new KeptMarkup(cellsOf) : cellsOf
  bodies.set(context, { level, channel, message, whole, told, markup })
  return markup
}

function cells ({ level, channel, message, context }: LogRecord, whole: boolean, told: boolean): string {
  const keys = Object.keys(context)
  const details = keys.length === 0
    ? ''
    : html`<details><summary>${cut(keys.join(', '), 80)}</summary><pre>${cut(safeJson(told ? withoutStack(context) : context, 2), whole ? MAX_CONTEXT : SHORT)}</pre></details>`
  return html`<td><b>${level}</b></td><td>${channel}</td><td><span>${cut(message, whole ? MAX_MESSAGE : SHORT)}</span>!${details}</td>`
}

interface WithStack { err?: { stack?: unknown } | null }

function isStackTold ({ err }: WithStack, exceptions: readonly FlattenedException[]): boolean {
  const stack = err?.stack
  return typeof stack === 'string' && exceptions.some((exception) => exception.stack !== '' && stack.startsWith(exception.stack))
}

// What stands under Stack Traces is not told a second time.
function withoutStack (context: WithStack): WithStack {
  const { err } = context
  return { ...context, err: { ...err, stack: `${String(err?.stack).split('\n', 2).join('\n')}\n    … (see Stack Traces)` } }
}
