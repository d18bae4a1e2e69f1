import { isErrorOrWorse, isWarningOrWorse, type LogRecord } from '../../logs/log-record.js'
import { counted } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { json, note, select, table } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { addressOf, fieldOf, fieldsOf, pageLinks, pageOf, PLAIN_VIEW, type Panel, type PanelView } from './panel.js'

/** The levels with the texts of the filter, from the least to the most severe. */
const LEVELS: ReadonlyMap<string, string> = new Map([
  ['trace', 'All lines'],
  ['debug', 'Debug and above'],
  ['info', 'Info and above'],
  ['warn', 'Warnings and above'],
  ['error', 'Errors and above'],
  ['fatal', 'Fatal only']
])
const NAMES = [...LEVELS.keys()]
/** Lines of one page. */
export const PAGE = 500
const MAX_CHANNELS = 20
const MAX_TEXT = 500
/** The channel of the lines that say which listener was notified. */
const NOTIFICATIONS = 'event'

interface Filter {
  /** The least severe level that is shown. */
  level: string
  /** The channels that are shown; empty: all but the notifications of listeners. */
  channels: readonly string[]
  /** Whether the notifications are shown, too. */
  events: boolean
  /** Text that the line contains, regardless of case. */
  text: string
  time: 'absolute' | 'relative'
}

interface Line {
  record: LogRecord
  /** From 1. */
  number: number
}

/** The log lines of the request. */
export const logsPanel: Panel = {
  name: 'logs',
  label: 'Logs',
  group: 'overview',
  always: true,
  count: ({ logs }) => logs.filter(({ channel }) => channel !== NOTIFICATIONS).length,
  problems: ({ logs }) => {
    const errors = logs.filter(isErrorOrWorse).length
    return { errors, warnings: logs.filter(isWarningOrWorse).length - errors }
  },
  render: (profile, view = PLAIN_VIEW) =>
    profile.logs.length === 0 ? note('No log messages.') : render(profile, view)
}

function render ({ logs, time }: Profile, view: PanelView): string {
  const filter = filterOf(view)
  const lines = logs.map((record, i): Line => ({ record, number: i + 1 }))
  const matching = lines.filter(({ record }) => isShown(record, filter))
  const page = pageOf(matching, PAGE, view)
  const rows = page.items.map((line) => row(line, Date.parse(time)))
  const hidden = lines.filter(({ record }) => isHidden(record, filter)).length
  const count = `${matching.length.toLocaleString('en')} of ${counted(logs.length - hidden, 'line')}`
  return firstError(lines) + filterForm(logs.filter((record) => !isHidden(record, filter)), logs, filter) +
    html`<p class="note log-count">${count}!${notifications(hidden, filter)}</p>` +
    table('Log lines', ['Time', 'Level', 'Channel', 'Message'], rows, `rows logs is-${filter.time}`) +
    pageLinks('logs', 'lines', page, fieldsIn(filter))
}

// Fields without a valid value count as absent.
function filterOf (view: PanelView): Filter {
  const level = fieldOf(view, 'level')
  return {
    level: LEVELS.has(level) ? level : 'info',
    channels: fieldsOf(view, 'channel'),
    events: fieldOf(view, 'events') === '1',
    text: fieldOf(view, 'q').slice(0, MAX_TEXT),
    time: fieldOf(view, 'time') === 'relative' ? 'relative' : 'absolute'
  }
}

// Lines of an unknown level are shown at every level.
function isShown ({ level, channel, message, context }: LogRecord, filter: Filter): boolean {
  const severity = severityOf(level)
  const text = `${String(message)} ${JSON.stringify(context) ?? ''}`.toLowerCase()
  return (severity === -1 || severity >= severityOf(filter.level)) &&
    (filter.channels.length === 0 || filter.channels.includes(String(channel))) &&
    !isHidden({ channel }, filter) && text.includes(filter.text.toLowerCase())
}

function isHidden ({ channel }: Pick<LogRecord, 'channel'>, { channels, events }: Filter): boolean {
  return channel === NOTIFICATIONS && !events && !channels.includes(NOTIFICATIONS)
}

function notifications (hidden: number, filter: Filter): string {
  if (hidden === 0) return ''
  // Notifications have the level debug.
  const level = severityOf(filter.level) > severityOf('debug') ? 'debug' : filter.level
  const channels = filter.channels.length === 0 ? [] : [...filter.channels, NOTIFICATIONS]
  const href = addressOf('logs', fieldsIn({ ...filter, level, channels, events: true }))
  const what = counted(hidden, 'notification of a listener', 'notifications of listeners')
  return html`, without <a href="${href}">${what}</a>`
}

function fieldsIn ({ level, channels, events, text, time }: Filter): Array<[string, string]> {
  const all = [['level', level], ...channels.map((channel) => ['channel', channel]), ['q', text], ['time', time]]
  return [...all, ...(events ? [['events', '1']] : [])] as Array<[string, string]>
}

function severityOf (level: string): number {
  return NAMES.indexOf(level)
}

function firstError (lines: readonly Line[]): string {
  const errors = lines.filter(({ record: { level } }) => level === 'error' || level === 'fatal')
  const [first] = errors
  if (first === undefined) return ''
  const { number, record: { message } } = first
  const count = errors.length === 1 ? 'One error' : counted(errors.length, 'error')
  const href = addressOf('logs', [['level', 'error']], `line-${number}`)
  const text = visibleLine(String(message)).slice(0, 200)
  return html`<p class="lead bad"><a href="${href}">${count}, first: ${text}</a></p>`
}

function row ({ record: { time, level, channel, message, context }, number }: Line, startedAt: number): string {
  const since = Date.parse(time) - startedAt
  const age = Number.isNaN(since) ? '' : html`<span class="since">+${since} ms</span>`
  return html`<tr id="line-${number}" class="log log-!${NAMES[severityOf(String(level))] ?? 'other'}">
<td><time datetime="${time}">${String(time).slice(11, 23)}</time>!${age}</td>
<td><span class="level">${String(level)}</span></td><td>${channel}</td>
<td class="text">${message}!${contextOf(context)}</td></tr>`
}

function contextOf (context: unknown): string {
  const names = typeof context === 'object' && context !== null ? Object.keys(context) : []
  if (names.length === 0) return ''
  const title = names.slice(0, 4).map(visibleLine).join(', ') + (names.length > 4 ? ', …' : '')
  return html`<details><summary>Context <span class="names">${title}</span></summary>!${json(context)}</details>`
}

function filterForm (logs: readonly LogRecord[], all: readonly LogRecord[], filter: Filter): string {
  const { level, events, text, time } = filter
  const counts = countsOf(logs.map((record) => String(record.level)))
  const from = (name: string): number =>
    NAMES.slice(severityOf(name)).reduce((sum, one) => sum + (counts.get(one) ?? 0), 0)
  const levels = [...LEVELS].map(([name, label]) => [name, `${label} (${from(name)})`] as const)
  const times = (['Absolute', 'Relative'] as const).map((label) => {
    const name = label.toLowerCase()
    const checked = name === time ? ' checked' : ''
    return html`<label><input type="radio" name="time" value="${name}"!${checked}>${label}</label>`
  })
  return html`<form method="get" class="filters log-filters"><input type="hidden" name="panel" value="logs">
!${events ? '<input type="hidden" name="events" value="1">' : ''}!${select('Level', 'level', levels, level)}
!${channelBoxes(all, filter)}
<fieldset><legend>Time</legend>!${times}</fieldset>
<label>Filter messages
<input type="search" name="q" value="${text}" maxlength="!${MAX_TEXT}" autocomplete="off"></label>
<button type="submit">Filter</button></form>`
}

function channelBoxes (logs: readonly LogRecord[], filter: Filter): string {
  const { channels: selected } = filter
  const counts = [...countsOf(logs.map(({ channel }) => String(channel)))]
  if (counts.length < 2 || counts.length > MAX_CHANNELS) return ''
  const boxes = counts.map(([name, count]) => {
    const isChosen = !isHidden({ channel: name }, filter) && (selected.length === 0 || selected.includes(name))
    const checked = isChosen ? ' checked' : ''
    return html`<label><input type="checkbox" name="channel" value="${name}"!${checked}>${name} ` +
      html`<span class="none">${count}</span></label>`
  })
  return html`<fieldset class="channels"><legend>Channels</legend>!${boxes}</fieldset>`
}

function countsOf (names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
