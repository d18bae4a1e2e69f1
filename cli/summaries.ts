import type { ProfileSummary } from '../lib/profiler/summary.js'
import { counted } from '../lib/view/counted.js'
import { fit, milliseconds, readableTime, statusStyle, type Terminal } from './terminal.js'

/** A screen of fewer columns leaves the date out. */
const NARROW = 120
const LEAST_URL = 30

/** What stands above the lines of a list. */
export function heading (terminal: Terminal): string {
  const line = columns(terminal, { token: 'token', status: 'status', method: 'method', duration: 'duration', time: 'time' })
  return terminal.style('dim', `  ${line}url`)
}

/** One profile as a line, with a mark where it has a problem, and a second line that says which. */
export function summaryLines (summary: ProfileSummary, terminal: Terminal): string[] {
  const { token, status, method, duration, time, url, error, exception, warnings, pinned } = summary
  const mark = error ? terminal.style('red', '●') : warnings > 0 ? terminal.style('yellow', '▲') : pinned ? terminal.style('cyan', '★') : ' '
  const shownTime = isNarrow(terminal) ? time.slice(11, 19) : readableTime(time)
  const texts = { token, status: String(status), method: fit(method, 7), duration: milliseconds(duration), time: shownTime }
  const before = columns(terminal, texts)
  const room = Math.max(LEAST_URL, terminal.columns - before.length - 2)
  const remark = exception ?? (warnings > 0 ? `${counted(warnings, 'warning')} logged` : null)
  return [
    `${mark} ${terminal.style('bold', before.slice(0, 8))}${terminal.style(statusStyle(status), before.slice(8, 16))}${terminal.style('dim', before.slice(16))}${terminal.style('reset', fit(url, room))}`,
    ...remark === null ? [] : [' '.repeat(10) + terminal.style(error ? 'red' : 'yellow', fit(remark, terminal.columns - 10))]
  ]
}

function isNarrow (terminal: Terminal): boolean {
  return terminal.columns < NARROW
}

function columns (terminal: Terminal, { token, status, method, duration, time }: Record<'token' | 'status' | 'method' | 'duration' | 'time', string>): string {
  return `${token.padEnd(8)}${status.padEnd(8)}${method.padEnd(9)}${duration.padStart(10)}  ${time.padEnd(isNarrow(terminal) ? 10 : 25)}`
}
