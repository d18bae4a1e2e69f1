import {
  isErrorOrWorse, isNotification, isWarningOrWorse, LEVELS, linesLeftOut, mostSevere, offsetOf, type LogRecord
} from '../../logs/log-record.js'
import {
  formatCount, cutText, formatInteger, html, oneLine, presentItems, visibleJson, visibleLine, type HtmlValue,
  type SafeHtml
} from '../../view/text.js'
import { countedLabel, formatTime, noteText, placeElement, selectElement } from '../../view/components.js'
import { logTable, style } from '../../error-page/logs.js'
import { logLine } from '../../error-page/render-text.js'
import { shortFile } from '../../errors/stack-frame.js'
import type { Profile } from '../../store/profile.js'
import { afterTitle, isObject, lineOf, listOf, queryField } from '../read.js'
import type { PanelView, Part, TimelineEntry } from '../part.js'
import { alignItems, flattenPaths, type Section, type Values } from '../section.js'

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
/** Characters of a message of the Markdown. */
const MAX_MESSAGE = 300
/** Of the overview. */
const LAST_LINES = 4

/** Whether Node.js publishes the lines of `console`. */
const hasConsole = Number.parseInt(process.versions.node, 10) >= 22

/** The log lines of the request. */
export const logs: Part = {
  name: 'logs',
  from: 'log',
  panel: {
    label: 'Logs',
    group: 'logs',
    always: true,
    count: (_, { logs }) => logs.filter((line) => !isNotification(line)).length,
    problem: (_, { logs }) => logs.filter(isErrorOrWorse).length,
    warnings: (_, { logs }) => logs.filter(isWarning).length,
    render: (_, profile, view) => [
      filteredTable(profile, filterOf(view), view),
      !hasConsole && noteText('Lines of console.log and its like need Node.js 22 or later.')
    ]
  },
  issue: (_, { logs }) => (logs.find(isErrorOrWorse) ?? logs.find(isWarning))?.message,
  findings (_, { logs, duration, status }) {
    // Why a request was refused comes first, and what came after the response is counted.
    const lines = logs.filter(({ offset = 0 }) => status < 400 && offset <= duration)
    const [error, warning] = [lines.find(isErrorOrWorse), lines.find(isWarning)]
    if (error !== undefined) return [{ order: 12, text: lineText('An error was logged', error) }]
    if (warning === undefined) return []
    const what = warning.channel === 'process' ? 'A warning was emitted' : 'A warning was logged'
    return [{ order: 45, text: lineText(what, warning) }]
  },
  toolbar (_, { logs: lines }) {
    const [errors, warnings] = [lines.filter(isErrorOrWorse).length, lines.filter(isWarning).length]
    const logs = lines.filter((line) => !isNotification(line)).length
    const problems = ([['bad', errors, 'error'], ['warn', warnings, 'warning']] as const)
      .filter(([, count]) => count > 0)
    const head = problems.map(([mark, count, word], i) =>
      html`${i > 0 && ' '}<span class="${mark}">${countedLabel(count, word)}</span>`)
    return {
      order: 40,
      className: `logs ${problems[0]?.[0] ?? ''}`,
      title: 'Log',
      head: head.length === 0 ? countedLabel(logs, 'log') : head,
      // Lines, without the notifications of listeners.
      values: { logs, errors, warnings }
    }
  },
  toolbarStyle: '.logs { --icon: "M0 2h14v2H0zm0 4h14v2H0zm0 4h9v2H0z" }\n' +
    '@media (max-width: 400px) { .logs .label { font-size: 0 } }\n',
  markdown (_, { logs }) {
    const lines = linesByTime(logs)
    if (lines.length === 0) return []
    return [{ order: 30, title: 'Log', text: lines.map(logLine).join('\n'), ranks: lines.map(rankOf) }]
  },
  overview: (_, { logs, time }, view) => [{
    order: 30, title: 'Last log lines', column: 'main', value: lastOf(logs, Date.parse(time), view)
  }],
  timeline: (_, { logs, time }) => linesOf(logs).map((line) => entryOf(line, Date.parse(time))),
  comparison: [{ order: 80, compare: compareLogs }],
  style
}

function isWarning (line: Partial<LogRecord>): boolean {
  return line.level === 'warn' && linesLeftOut(line) === 0
}

function lineText (what: string, { message, source }: LogRecord): string {
  const text = oneLine(cutText(message, MAX_MESSAGE / 2)).replace(/[.!?]+$/, '')
  const sentence = presentItems([what, text !== '' && text]).join(': ')
  return presentItems([sentence, source !== undefined && `(${shortFile(lineOf(source))})`]).join(' ')
}

function filteredTable (profile: Profile, filter: Filter, { editor }: PanelView): HtmlValue {
  const { logs, duration } = profile
  if (logs.length === 0) return noteText('No log messages.')
  const lines = logs.filter((line) => filter.events || !isNotification(line))
  const matching = lines.filter((line) => matches(line, filter))
  const shown = mostSevere(matching, MAX_LINES)
  const left = matching.length - shown.length
  return [
    filterForm(lines, logs.filter(isNotification).length, filter, matching.length),
    left > 0 && noteText(`${formatCount(left, 'line')} that are less severe or older are left out.`),
    logTable(shown, editor, Infinity, { end: duration, title: afterTitle(profile) })
  ]
}

type Filter = ReturnType<typeof filterOf>

/**
 * The filter of a query: the least severe level, a text that lines contain, regardless of case, and whether
 * notifications of listeners are shown, too. Fields without a valid value count as absent.
 */
function filterOf (view: PanelView) {
  const level = queryField(view, 'level')
  return {
    level: Object.hasOwn(LEVEL_TEXTS, level) ? level : 'info',
    text: queryField(view, 'q').slice(0, MAX_TEXT),
    events: queryField(view, 'events') === '1'
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

function filterForm (
  lines: readonly LogRecord[], notifications: number, { level, text, events }: Filter, matching: number
): SafeHtml {
  const levels = Object.entries(LEVEL_TEXTS).map(([name, label]) =>
    [name, `${label} (${lines.filter((line) => hasLevel(line, name)).length})`] as const)
  const listeners = html`<label><input type="checkbox" name="events" value="1"${events && ' checked'}>\
Listeners (${notifications})</label>`
  return html`<form method="get" class="filters"><input type="hidden" name="panel" value="logs">
${selectElement('Level', 'level', levels, level)}
<label>Filter messages
<input type="search" name="q" value="${text}" maxlength="${MAX_TEXT}" autocomplete="off"></label>
${notifications > 0 && listeners}
<button type="submit">Filter</button> <span class="note log-count">${formatInteger(matching)} of \
${formatCount(lines.length, 'line')}</span></form>`
}

/** The last lines of the application: the page itself has the content of those of Fastify about the request. */
function lastOf (logs: readonly LogRecord[], startedAt: number, { editor }: PanelView): HtmlValue {
  const lines = linesOf(logs).filter(({ channel }) => channel !== 'request').slice(-LAST_LINES)
  const items = lines.map(({ level, message, source, ...line }) => html`<li class="log log-${level}"><small>\
+${formatTime(offsetOf(line, startedAt))}</small> <span class="level">${level}</span> \
${cutText(visibleLine(String(message)), MAX_MESSAGE)}${source !== undefined &&
      html` <small>${placeElement(lineOf(source), editor)}</small>`}</li>`)
  return items.length > 0 && html`<ol class="log-lines">${items}</ol>`
}

function entryOf (line: LogRecord, startedAt: number): TimelineEntry {
  const { level, channel, message, context, source = null } = line
  return {
    name: String(message) || '(no message)',
    start: offsetOf(line, startedAt),
    duration: 0,
    failed: isErrorOrWorse({ level }),
    color: isWarning({ level }) ? 'warning' : 'log',
    legend: channel === 'console' ? 'console line' : 'log line',
    hook: line.hook,
    detail: presentItems([`${level}, ${channel}`, isObject(context) && visibleJson(context)]).join(' '),
    source
  }
}

/**
 * The lines in the order of time; those of Fastify without what the profile has. A thrown value that is no error has no
 * message: then the fields have the value.
 */
function linesByTime (logs: unknown): LogRecord[] {
  const lines = linesOf(logs).map(({ time, level, channel, message, context }): LogRecord => ({
    time: String(time),
    level: String(level) as LogRecord['level'],
    channel: cutText(String(channel), MAX_MESSAGE),
    message: cutText(String(message), MAX_MESSAGE),
    context: isObject(context) && (channel !== 'request' || message === '') ? context : {}
  }))
  return lines.sort((a, b) => Date.parse(a.time) - Date.parse(b.time))
}

/** Where there is no space for all lines, the warnings and errors of the application stay, and then its other lines. */
function rankOf (line: LogRecord): number {
  if (line.channel === 'request') return 2
  if (isWarningOrWorse(line)) return 0
  return 1
}

function compareLogs (section: Section, a: Profile, b: Profile): void {
  const nameOf = ({ level, channel }: LogRecord): string => `${level} ${channel}`
  // Other sections have what Fastify says about the request.
  const linesIn = ({ logs }: Profile): LogRecord[] => linesOf(logs).filter(({ channel }) => channel !== 'request')
  const pairs = alignItems(linesIn(a), linesIn(b), (line, side) =>
    `${nameOf(line)} ${section.normalized(String(line.message), side)}`)
  for (const [one, other] of pairs) {
    const { level, channel } = one ?? other ?? {}
    section.value(`${level} ${channel}`, one?.message, other?.message)
    if (one === undefined || other === undefined) continue
    const prefix = `context of "${String(one.message).slice(0, 80)}"`
    const contextOf = ({ context }: LogRecord): Values => flattenPaths({ ...context, err: undefined }, prefix)
    section.values(contextOf(one), contextOf(other))
  }
}

// Log lines of the events repeat the section of the events.
function linesOf (logs: unknown): LogRecord[] {
  return (listOf(logs) as unknown as LogRecord[]).filter((line) => !isNotification(line))
}
