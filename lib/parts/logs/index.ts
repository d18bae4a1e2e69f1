import { isErrorOrWorse, isNotification, LEVELS, mostSevere, type LogRecord } from '../../logs/log-record.js'
import { counted } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { fold, json, milliseconds, note, select, table } from '../../view/components.js'
import type { Profile } from '../../profiler/profile.js'
import { createPanel, type PanelView } from '../part.js'

/** The texts of the filter, by level. */
const LEVEL_TEXTS: Readonly<Record<string, string>> = {
  trace: 'All lines',
  debug: 'Debug and above',
  info: 'Info and above',
  warn: 'Warnings and above',
  error: 'Errors and above',
  fatal: 'Fatal only'
}
/** Maximum lines that are shown. */
const MAX_LINES = 1_000
const MAX_TEXT = 500
/** Maximum fields of a context that its summary names. */
const MAX_FIELDS = 4

/** The log lines of the request. */
export const logsPanel = createPanel('logs', 'Logs', 'overview', {
  always: true,
  count: (_, { logs }) => logs.filter((line) => !isNotification(line)).length,
  errors: (_, { logs }) => logs.filter(isErrorOrWorse).length,
  warnings: (_, { logs }) => logs.filter(({ level }) => level === 'warn').length,
  render: (_, profile, view) =>
    profile.logs.length === 0 ? note('No log messages.') : logTable(profile, filterOf(view))
})

function logTable ({ logs, time }: Profile, filter: Filter): string {
  const lines = filter.events ? logs : logs.filter((line) => !isNotification(line))
  const matching = lines.filter((line) => matches(line, filter))
  const shown = mostSevere(matching, MAX_LINES)
  const left = matching.length - shown.length
  return filterForm(lines, logs.filter(isNotification).length, filter) +
    html`<p class="note log-count">${matching.length.toLocaleString('en')} of ${counted(lines.length, 'line')}</p>` +
    (left > 0 ? note(`${counted(left, 'line')} that are less severe or older are left out.`) : '') +
    table('Log lines', ['Time', 'Level', 'Channel', 'Message'], shown.map((line) => row(line, Date.parse(time))),
      'rows logs')
}

type Filter = ReturnType<typeof filterOf>

/**
 * The filter of a query: the least severe level, a text that lines contain, regardless of case, and whether
 * notifications of listeners are shown, too. Fields without a valid value count as absent.
 */
function filterOf ({ query }: PanelView) {
  const fieldOf = (name: string): string => String([query[name]].flat().at(-1) ?? '')
  const level = fieldOf('level')
  return {
    level: Object.hasOwn(LEVEL_TEXTS, level) ? level : 'info',
    text: fieldOf('q').slice(0, MAX_TEXT),
    events: fieldOf('events') === '1'
  }
}

function matches (line: LogRecord, { level, text }: Filter): boolean {
  const { message, context } = line
  return (isNotification(line) || hasLevel(line, level)) &&
    `${String(message)} ${JSON.stringify(context) ?? ''}`.toLowerCase().includes(text.toLowerCase())
}

/** Whether a line has at least a level. Lines of an unknown level match each. */
function hasLevel (line: LogRecord, least: string): boolean {
  const names: readonly string[] = LEVELS
  return !names.includes(line.level) || names.indexOf(line.level) >= names.indexOf(least)
}

function row ({ time, offset, level, channel, message, context }: LogRecord, startedAt: number): string {
  return html`<tr class="log log-${level}">
<td><time datetime="${time}">${String(time).slice(11, 23)}</time>
<small>+${milliseconds(offset ?? Date.parse(time) - startedAt)}</small></td>
<td><span class="level">${level}</span></td><td>${channel}</td>
<td class="text">${message}!${contextOf(context)}</td></tr>`
}

function contextOf (context: unknown): string {
  const names = typeof context === 'object' && context !== null ? Object.keys(context) : []
  return names.length === 0 ? '' : fold(`Context: ${names.slice(0, MAX_FIELDS).join(', ')}`, json(context))
}

function filterForm (lines: readonly LogRecord[], notifications: number, { level, text, events }: Filter): string {
  const levels = Object.entries(LEVEL_TEXTS).map(([name, label]) =>
    [name, `${label} (${lines.filter((line) => hasLevel(line, name)).length})`] as const)
  const listeners = html`<label><input type="checkbox" name="events" value="1"!${events ? ' checked' : ''}>` +
    html`Listeners (${notifications})</label>`
  return html`<form method="get" class="filters"><input type="hidden" name="panel" value="logs">
!${select('Level', 'level', levels, level)}
<label>Filter messages
<input type="search" name="q" value="${text}" maxlength="!${MAX_TEXT}" autocomplete="off"></label>
!${notifications === 0 ? '' : listeners}
<button type="submit">Filter</button></form>`
}
