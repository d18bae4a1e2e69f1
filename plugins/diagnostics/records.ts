import type { ListenerEvent } from '../kernel/events.js'
import type { Mask } from '../kernel/mask/mask.js'
import type { LogRecord } from '../logs/log-record.js'
import { RequestLog } from '../logs/request-log.js'

/**
 * A request's log as it is shown: its own lines, and the notifications of the lifecycle as debug lines between them.
 * These say nothing that came with the request: a mask is for the lines.
 */
export function recordsOf (log: unknown, events: readonly ListenerEvent[], startedTime: number, mask?: Mask): LogRecord[] {
  return withNotifications(linesOf(log, mask), events, startedTime)
}

/** A request's own lines, masked where there is a mask. */
export function linesOf (log: unknown, mask?: Mask): LogRecord[] {
  return log instanceof RequestLog ? log.records(mask) : []
}

/** Lines of a log, with the notifications of the lifecycle between them. */
export function withNotifications (lines: readonly LogRecord[], events: readonly ListenerEvent[], startedTime: number): LogRecord[] {
  const notified = events
    .filter(({ outcome }) => outcome !== 'skipped')
    .map(({ stage, listener, start }): LogRecord => ({
      time: new Date(startedTime + Math.floor(start)).toISOString(),
      level: 'debug',
      channel: 'event',
      message: `Notified event "${stage}" to listener "${listener}".`,
      context: {}
    }))
  return merge(lines, notified)
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
