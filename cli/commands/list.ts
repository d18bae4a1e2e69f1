import { follow } from '../../lib/profiler/follow.js'
import { milliseconds } from '../../lib/profiler/pages/components.js'
import type { ProfilePage } from '../../lib/profiler/storage/storage.js'
import type { ProfileSummary } from '../../lib/profiler/summary.js'
import { counted } from '../../lib/view/counted.js'
import { nothingFound, searchOf, type Command } from '../command.js'
import { fit, readableTime, shorten, statusStyle, type Formatter } from '../terminal.js'

/** A terminal with fewer columns shows the time without the date, and the URL without the origin. */
const NARROW = 120

export const list: Command = {
  args: '[query]',
  summary: 'list the stored profiles, newest first',
  details: 'A query has criteria as one text, such as "status:5xx /orders slow:>200ms".',
  criteria: 'pages',
  run: async ({ args: [q], flags, terminal, print, open }) => {
    const query = searchOf({ ...flags, q })
    const { profiles, next } = await (await open()).search(query)
    await print({ profiles, next }, () =>
      profiles.length === 0 ? [nothingFound(query.criteria)] : listLines({ profiles, next }, terminal))
  }
}

export const search: Command = { ...list, summary: 'list the profiles that match all criteria' }

export const tail: Command = {
  args: '',
  summary: 'list matching profiles as they are stored',
  criteria: 'all',
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

/** A page of profiles as a table. */
export function listLines ({ profiles, next }: Pick<ProfilePage, 'profiles' | 'next'>, format: Formatter): string[] {
  return [
    headingLine(format),
    ...profiles.flatMap((summary) => summaryLines(summary, format)),
    ...next === null ? [] : [format.style('dim', `More profiles: --cursor ${next}`)]
  ]
}

function headingLine (format: Formatter): string {
  return format.style('dim', `  ${columns(['token', 'status', 'method', 'duration', 'time'], format)}url`)
}

/** One profile as a line, and a second line for its exception or warnings. */
function summaryLines (summary: ProfileSummary, format: Formatter): string[] {
  const { token, status, method, duration, time, url, error, exception, warnings, pinned } = summary
  const { style } = format
  const color = error ? 'red' : warnings > 0 ? 'yellow' : 'cyan'
  const mark = error ? '●' : warnings > 0 ? '▲' : pinned ? '★' : ' '
  const shownTime = format.columns < NARROW ? time.slice(11, 19) : readableTime(time)
  const line = columns([token, String(status), fit(method, 7), milliseconds(duration), shownTime], format)
  const target = format.columns < NARROW ? url.replace(/^https?:\/\/[^/?#]*(?=\/)/, '') : url
  const shownUrl = shorten(target, format.columns - line.length - 2)
  const remark = exception ?? (warnings > 0 ? `${counted(warnings, 'warning')} logged` : '')
  return [
    `${style(color, mark)} ${style('bold', line.slice(0, 8))}${style(statusStyle(status), line.slice(8, 16))}` +
      style('dim', line.slice(16)) + style('reset', shownUrl),
    ...remark === '' ? [] : [' '.repeat(10) + style(color, fit(remark, format.columns - 10))]
  ]
}

function columns (texts: readonly string[], format: Formatter): string {
  const [token = '', status = '', method = '', duration = '', time = ''] = texts
  const width = format.columns < NARROW ? 10 : 25
  return `${token.padEnd(8)}${status.padEnd(8)}${method.padEnd(9)}${duration.padStart(10)}  ${time.padEnd(width)}`
}
