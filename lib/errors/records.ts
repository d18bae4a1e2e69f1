import type { ListenerEvent } from '../lifecycle/events.js'
import type { Mask } from '../mask/mask.js'
import { foremost, isFailure, type Levelled } from '../logs/foremost.js'
import type { LogRecord } from '../logs/log-record.js'
import { isoTime } from '../logs/iso-time.js'
import { RequestLog, type LogEntry } from '../logs/request-log.js'
import { MAX_LOGS, type ErrorReport } from './report.js'

type ShownRecords = Pick<ErrorReport, 'logs' | 'logsOmitted'>

/**
 * A request's log as it is shown: its own lines, masked, and the notifications of the lifecycle as debug lines.
 * Notifications hold nothing that came with the request, and are not masked.
 */
export function recordsOf (log: unknown, events: readonly ListenerEvent[], start: number, mask: Mask): ShownRecords {
  const all = entriesOf(log, mask)
  const shown = foremost(all, MAX_LOGS)
  const logs = withNotifications(shown.map((entry) => entry.read()), events, start)
  if (shown.length === all.length) return { logs }
  const failures = all.filter(isFailure).length - shown.filter(isFailure).length
  return { logs, logsOmitted: { lines: all.length - shown.length, failures } }
}

const NOTIFICATION = { level: 'debug' } as const

/** The levels of all lines of a log, the notifications included; no line is read for it. */
export function levelsOf (log: unknown, events: readonly ListenerEvent[]): Levelled[] {
  return [...entriesOf(log), ...events.filter(isNotified).map(() => NOTIFICATION)]
}

/** A request's own lines. Each is read, and masked where a mask is given, when it is needed. */
export function entriesOf (log: unknown, mask?: Mask): LogEntry[] {
  return log instanceof RequestLog ? log.entries(mask && ((record) => masked(record, mask))) : []
}

function masked ({ context, message, ...rest }: LogRecord, mask: Mask): LogRecord {
  return { ...rest, message: mask.text(message), context: mask.value(context) as Record<string, unknown> }
}

/**
 * Lines of a log with the notifications of the lifecycle between them, in the order of time; `start`: when the request
 * arrived, in milliseconds since the epoch. Of the same millisecond, lines come first.
 */
export function withNotifications (
  lines: readonly LogRecord[], events: readonly ListenerEvent[], start: number
): LogRecord[] {
  const notified = events.filter(isNotified).map((event): LogRecord =>
    ({ time: isoTime(start + Math.floor(event.start)), ...notification(event) }))
  return [...lines, ...notified].sort((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0)
}

/** The log line that says that a listener was notified, without its time. */
export function notification (event: Pick<ListenerEvent, 'stage' | 'listener'>): Omit<LogRecord, 'time'> {
  const message = `Notified event "${event.stage}" to listener "${event.listener}".`
  return { level: 'debug', channel: 'event', message, context: {} }
}

/** Whether there is such a line for an event. */
export function isNotified ({ outcome, stage }: Pick<ListenerEvent, 'outcome' | 'stage'>): boolean {
  return outcome !== 'skipped' && stage.startsWith('kernel.')
}
