import type { FlattenedException, StackFrame } from '../lib/errors/exception.js'
import type { ListenerEvent } from '../lib/lifecycle/events.js'
import { blockedSentences } from '../lib/profiler/panels/panel.js'
import type { Profile } from '../lib/profiler/profile.js'
import { isFailure } from '../lib/profiler/summary.js'
import { counted } from '../lib/view/counted.js'
import { fit, milliseconds, readableTime, statusStyle, type Style, type Terminal } from './terminal.js'

const LEVELS: Readonly<Record<string, Style>> = { fatal: 'red', error: 'red', warn: 'yellow', info: 'reset', debug: 'dim', trace: 'dim' }
const MAX_FRAMES = 8
const MAX_LOGS = 50

/** What the request was, and how it ended. */
export function headLines (profile: Profile, terminal: Terminal): string[] {
  const { token, time, method, url, status, duration, ip, route, parent } = profile
  const blocked = blockedSentences(profile)
  return [
    `${terminal.style(statusStyle(status), String(status))} ${terminal.style('bold', `${method} ${url}`)}`,
    terminal.style('dim', [token, readableTime(time), milliseconds(duration), ip, `route ${route?.name ?? 'none'}`, ...parent === undefined ? [] : [`caused by ${parent}`]].join(' · ')),
    ...blocked.map((sentence) => terminal.style('yellow', sentence)),
    ...isFailure(profile) || blocked.length > 0 ? [] : [terminal.style('green', 'Nothing failed.')]
  ]
}

/** The chain of exceptions, root cause first, with the frames of the application and the source at the first of them. */
export function exceptionLines ({ exceptions }: Profile, terminal: Terminal): string[] {
  return exceptions.flatMap((exception, i) => [
    ...i === 0 ? [] : [''],
    `${terminal.style('dim', `[${i + 1}/${exceptions.length}]`)} ${terminal.style('red', `${exception.name}: ${exception.message}`)}`,
    ...frameLines(exception, terminal)
  ])
}

function frameLines (exception: FlattenedException, terminal: Terminal): string[] {
  const frames = listOf(exception.frames)
  const own = frames.filter((frame) => frame.own)
  const shown = (own.length > 0 ? own : frames).slice(0, MAX_FRAMES)
  const hidden = frames.length - shown.length
  const [first] = shown
  return [
    ...shown.flatMap((frame) => [
      `    at ${terminal.style('reset', frame.function === '' ? '(anonymous)' : frame.function)} ${terminal.style('cyan', `${frame.file}:${frame.line}:${frame.column}`)}`,
      ...frame === first ? excerptLines(frame, terminal) : []
    ]),
    ...hidden > 0 ? [terminal.style('dim', `    and ${counted(hidden, 'more frame', 'more frames')}, most of dependencies`)] : []
  ]
}

function excerptLines ({ excerpt, line }: StackFrame, terminal: Terminal): string[] {
  const lines = listOf(excerpt?.lines)
  if (excerpt === undefined || lines.length === 0) return []
  const first = Math.max(0, line - excerpt.start - 2)
  return lines.slice(first, first + 5).map((text, i) => {
    const number = excerpt.start + first + i
    const content = `${number === line ? '>' : ' '} ${String(number).padStart(5)} | ${text}`
    return `      ${terminal.style(number === line ? 'yellow' : 'dim', fit(content, terminal.columns - 6))}`
  })
}

/** The last lines of the request's log. */
export function logLines (profile: Profile, terminal: Terminal): string[] {
  // What the listeners did is told by the events.
  const logs = profile.logs.filter(({ channel, level }) => channel !== 'event' || !['debug', 'trace'].includes(level))
  const shown = logs.slice(-MAX_LOGS)
  return [
    ...logs.length > shown.length ? [terminal.style('dim', `    ${logs.length - shown.length} earlier lines are left out; --panel logs --json has all`)] : [],
    ...shown.map(({ time, level, channel, message }) =>
      `    ${terminal.style('dim', time.slice(11, 23))} ${terminal.style(LEVELS[level] ?? 'reset', level.padEnd(5))} ${terminal.style('dim', channel)} ${terminal.style('reset', message)}`)
  ]
}

/** What the listeners did that did something. */
export function eventLines ({ events }: Profile, terminal: Terminal): string[] {
  const skipped = events.filter(({ outcome }) => outcome === 'skipped').length
  return [
    ...events.filter(({ outcome }) => outcome !== 'skipped').map((event) => eventLine(event, terminal)),
    ...skipped > 0 ? [terminal.style('dim', `    ${skipped} had nothing to do; --panel events --json says why`)] : []
  ]
}

function eventLine ({ stage, listener, pass, outcome, start, duration, changes }: ListenerEvent, terminal: Terminal): string {
  const headers = listOf(changes?.headers).map(({ name, to }) => to === null ? `-${name}` : name)
  const deeds = [...headers, ...changes?.status?.to === undefined ? [] : [`status ${changes.status.to}`]].join(', ')
  return `    ${terminal.style('dim', milliseconds(start).padStart(10))} ${terminal.style('dim', pass.padEnd(5))} ${terminal.style('reset', stage.replace('kernel.', '').padEnd(20))} ` +
    `${terminal.style('reset', listener.padEnd(24))} ${terminal.style(outcome === 'raised' ? 'red' : outcome === 'answered' ? 'yellow' : 'dim', outcome.padEnd(8))} ${terminal.style('dim', milliseconds(duration).padStart(9))} ${terminal.style('cyan', deeds)}`.trimEnd()
}

/** A store may hold what was imported before it was checked in full. */
function listOf<T> (list: readonly T[] | undefined): readonly T[] {
  return Array.isArray(list) ? list as readonly T[] : []
}

/** The headers of request and response. */
export function requestLines ({ collectors }: Profile, terminal: Terminal): string[] {
  return [...headerLines(collectors.request, '>', terminal), ...headerLines(collectors.response, '<', terminal)]
}

function headerLines (part: unknown, sign: string, terminal: Terminal): string[] {
  const headers = (part as { headers?: unknown } | undefined)?.headers
  if (typeof headers !== 'object' || headers === null) return []
  return Object.entries(headers).map(([name, value]) => `    ${terminal.style('dim', sign)} ${terminal.style('cyan', name)}: ${terminal.style('reset', String(value))}`)
}
