import type { ListenerEvent } from '../lifecycle/events.js'
import { isErrorOrWorse, mostSevere, type LogRecord } from '../logs/log-record.js'
import { RequestLog } from '../logs/request-log.js'
import type { Mask } from '../mask/mask.js'
import type { ErrorReport } from './report.js'

/** The number of lines of a request's log that a report has; notifications are not counted. */
const MAX_LOGS = 1_000

/** The lines of a report: the most severe of a request's log, masked, with the notifications of its listeners. */
export function reportedLines (
  log: unknown, events: readonly ListenerEvent[], start: number, mask: Mask
): Pick<ErrorReport, 'logs' | 'logsOmitted'> {
  const all = linesOf(log)
  const shown = mostSevere(all, MAX_LOGS)
  const logs = withNotifications(shown.map((record) => maskRecord(record, mask)), events, start)
  if (shown.length === all.length) return { logs }
  const failures = all.filter(isErrorOrWorse).length - shown.filter(isErrorOrWorse).length
  return { logs, logsOmitted: { lines: all.length - shown.length, failures } }
}

/** The lines of a request's log, unmasked, by time; none where it has no log. */
export function linesOf (log: unknown): LogRecord[] {
  return log instanceof RequestLog ? log.records() : []
}

/** A line with the secrets of its message and its context masked. */
export function maskRecord ({ context, message, ...rest }: LogRecord, mask: Mask): LogRecord {
  return { ...rest, message: mask.text(message), context: mask.value(context) as Record<string, unknown> }
}

/**
 * Merges a debug line for each listener that ran into lines of a log, by time. `start` is when the request arrived, in
 * milliseconds since the epoch. Lines of the same millisecond come before notifications.
 */
export function withNotifications (
  lines: readonly LogRecord[], events: readonly ListenerEvent[], start: number
): LogRecord[] {
  const notified = events
    .filter(({ outcome, stage }) => outcome !== 'skipped' && stage.startsWith('kernel.'))
    .map((event): LogRecord => ({
      time: new Date(start + Math.floor(event.start)).toISOString(),
      level: 'debug',
      channel: 'event',
      message: `Notified event "${event.stage}" to listener "${event.listener}".`,
      context: {}
    }))
  return [...lines, ...notified].sort((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0)
}
