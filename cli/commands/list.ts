import { follow } from '../../lib/profiler/follow.js'
import type { ProfileSummary } from '../../lib/profiler/summary.js'
import { counted } from '../../lib/view/counted.js'
import { nothingFound, searchOf, type Command } from '../command.js'
import { fit, milliseconds, readableTime, statusStyle, type Terminal } from '../terminal.js'

const MIN_URL = 30
/** A terminal with fewer columns shows the time without the date. */
const NARROW = 120

export const listCommand: Command = {
  name: 'list',
  args: '',
  summary: 'list the stored profiles, newest first',
  criteria: 'pages',
  arity: [0, 0],
  run: async ({ flags, terminal, open }) => {
    const search = searchOf(flags)
    const store = await open()
    const { profiles, next } = await store.search(search)
    if (flags.json === true) return await terminal.json({ profiles, next }, 2)
    if (profiles.length === 0) return await terminal.line(nothingFound(search.criteria).message)
    await terminal.line(headingLine(terminal))
    await terminal.lines(profiles.flatMap((summary) => summaryLines(summary, terminal)))
    if (next !== null) await terminal.line(terminal.style('dim', `There are more: --cursor ${next}`))
  }
}

export const searchCommand: Command = {
  ...listCommand, name: 'search', summary: 'list the profiles that match all criteria'
}

export const tailCommand: Command = {
  name: 'tail',
  args: '',
  summary: 'list matching profiles as they are stored',
  criteria: 'all',
  arity: [0, 0],
  run: async ({ flags, terminal, open, signal }) => {
    const { criteria } = searchOf(flags)
    const store = await open()
    const { head } = await store.search({ limit: 1 })
    if (flags.json !== true) await terminal.line(headingLine(terminal))
    for await (const { profiles } of follow(store, { criteria, after: head, signal })) {
      for (const summary of profiles) {
        if (flags.json === true) await terminal.json(summary)
        else await terminal.lines(summaryLines(summary, terminal))
      }
    }
  }
}

function headingLine (terminal: Terminal): string {
  return terminal.style('dim', `  ${columns(['token', 'status', 'method', 'duration', 'time'], terminal)}url`)
}

/** One profile as a line, and a second line for its exception or warnings. */
function summaryLines (summary: ProfileSummary, terminal: Terminal): string[] {
  const { token, status, method, duration, time, url, error, exception, warnings, pinned } = summary
  const hasWarnings = warnings > 0
  const style = error ? 'red' : hasWarnings ? 'yellow' : 'cyan'
  const mark = error ? '●' : hasWarnings ? '▲' : pinned ? '★' : ' '
  const shownTime = terminal.columns < NARROW ? time.slice(11, 19) : readableTime(time)
  const line = columns([token, String(status), fit(method, 7), milliseconds(duration), shownTime], terminal)
  const remark = exception ?? (hasWarnings ? `${counted(warnings, 'warning')} logged` : null)
  const shownUrl = fit(url, Math.max(MIN_URL, terminal.columns - line.length - 2))
  const styled = [
    terminal.style('bold', line.slice(0, 8)), terminal.style(statusStyle(status), line.slice(8, 16)),
    terminal.style('dim', line.slice(16)), terminal.style('reset', shownUrl)
  ].join('')
  return [
    `${terminal.style(style, mark)} ${styled}`,
    ...remark === null ? [] : [' '.repeat(10) + terminal.style(style, fit(remark, terminal.columns - 10))]
  ]
}

function columns (texts: readonly string[], terminal: Terminal): string {
  const [token = '', status = '', method = '', duration = '', time = ''] = texts
  const width = terminal.columns < NARROW ? 10 : 25
  return `${token.padEnd(8)}${status.padEnd(8)}${method.padEnd(9)}${duration.padStart(10)}  ${time.padEnd(width)}`
}
