import type { ListenerEvent } from '../kernel/events.js'
import { LimitedMap } from '../kernel/limited-map.js'
import type { Mask } from '../kernel/mask/mask.js'
import { foremost, isFailure, type Levelled } from '../logs/foremost.js'
import type { LogRecord } from '../logs/log-record.js'
import { aheadOf } from '../logs/line-head.js'
import type { Said } from '../logs/line.js'
import { isoTime } from '../logs/iso-time.js'
import { RequestLog, type LogEntry, type LogView } from '../logs/request-log.js'
import { MAX_LOGS, type ErrorReport } from './report.js'

/**
 * A request's log as it is shown: its own lines, and the notifications of the lifecycle as debug lines between them.
 * These say nothing that came with the request: the mask is for the lines.
 */
export function recordsOf (log: unknown, events: readonly ListenerEvent[], startedTime: number, mask: Mask): Pick<ErrorReport, 'logs' | 'logsOmitted'> {
  const all = entriesOf(log, mask)
  const shown = foremost(all, MAX_LOGS)
  const logs = withNotifications(shown.map((entry) => entry.read()), events, startedTime)
  if (shown.length === all.length) return { logs }
  const failures = all.filter(isFailure).length - shown.filter(isFailure).length
  return { logs, logsOmitted: { lines: all.length - shown.length, failures } }
}

const NOTIFICATION = { level: 'debug' } as const

/** How severe each line of a log is, the notifications included, without reading any. */
export function levelsOf (log: unknown, events: readonly ListenerEvent[]): Levelled[] {
  return [...entriesOf(log), ...events.filter(isNotified).map(() => NOTIFICATION)]
}

/** A request's own lines, each read, and masked where there is a mask, when it is asked for. */
export function entriesOf (log: unknown, mask?: Mask): LogEntry[] {
  return log instanceof RequestLog ? log.entries(mask && viewOf(mask)) : []
}

const MAX_KNOWN = 100
const MAX_KNOWN_LENGTH = 60_000
const MAX_LENGTH = 20_000
const MAX_END = 200

const views = new WeakMap<Mask, LogView>()

/** What a mask shows of log lines; of lines that say the same the context is the same object. */
function viewOf (mask: Mask): LogView {
  const before = views.get(mask)
  if (before !== undefined) return before
  const known = new LimitedMap<{ rest: string, shown: ReturnType<LogView['line']> }>(MAX_KNOWN, MAX_KNOWN_LENGTH)
  const saidBefore = new WeakMap<Said, Said>()
  const view: LogView = {
    said (said) {
      if (said.isOurs === true) return said
      let shown = saidBefore.get(said)
      if (shown === undefined) {
        shown = { channel: said.channel, message: mask.text(said.message), context: mask.value(said.context) as Record<string, unknown> }
        saidBefore.set(said, shown)
      }
      return shown
    },
    own: (record) => masked(record, mask),
    line (text, record) {
      const ahead = text === null || text.length > MAX_LENGTH ? 0 : aheadOf(text)
      if (text === null || ahead === 0) return masked(record(), mask)
      const rest = text.slice(ahead)
      // To compare a long text is cheaper than to hash it.
      const key = rest.length > 2 * MAX_END ? `${rest.length} ${rest.slice(0, MAX_END)}${rest.slice(-MAX_END)}` : rest
      const seen = known.get(key)
      if (seen?.rest === rest) return seen.shown
      const { channel, message, context } = masked(record(), mask)
      const shown = { channel, message, context }
      // A line that only looks like JSON is told as it is, its time too.
      if (!message.startsWith('{')) known.set(key, { rest, shown })
      return shown
    }
  }
  views.set(mask, view)
  return view
}

function masked (record: LogRecord, mask: Mask): LogRecord {
  return { ...record, message: mask.text(record.message), context: mask.value(record.context) as Record<string, unknown> }
}

/** Lines of a log, with the notifications of the lifecycle between them. */
export function withNotifications (lines: readonly LogRecord[], events: readonly ListenerEvent[], startedTime: number): LogRecord[] {
  const notified: LogRecord[] = []
  for (const event of events) {
    if (!isNotified(event)) continue
    notified.push({ time: isoTime(startedTime + Math.floor(event.start)), ...notification(event) })
  }
  return merge(lines, notified)
}

/** The log line that says that a listener was notified, without its time. */
export function notification ({ stage, listener }: Pick<ListenerEvent, 'stage' | 'listener'>): Omit<LogRecord, 'time'> {
  return { level: 'debug', channel: 'event', message: `Notified event "${stage}" to listener "${listener}".`, context: {} }
}

/** Whether there is such a line for an event. */
export function isNotified ({ outcome, stage }: Pick<ListenerEvent, 'outcome' | 'stage'>): boolean {
  return outcome !== 'skipped' && stage.startsWith('kernel.')
}

// Both are in the order of time; of two of the same millisecond the notification was first, as it caused the line.
function merge (lines: readonly LogRecord[], notified: LogRecord[]): LogRecord[] {
  const merged: LogRecord[] = []
  let i = 0
  for (const line of lines) {
    while (i < notified.length && (notified[i] as LogRecord).time < line.time) merged.push(notified[i++] as LogRecord)
    merged.push(line)
  }
  return merged.concat(notified.slice(i))
}
