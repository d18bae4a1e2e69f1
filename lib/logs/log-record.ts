import type { ListenerEvent } from '../lifecycle/events.js'

/** The levels of pino from the least to the most severe; their numbers are 10 to 60. */
export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

export type LogLevel = typeof LEVELS[number]

/** One line of a request's log. */
export interface LogRecord {
  /** ISO 8601, in UTC, with milliseconds. */
  time: string
  /** Milliseconds since the request arrived, to the microsecond. */
  offset?: number
  level: LogLevel
  channel: string
  message: string
  context: Record<string, unknown>
}

/** The name of one of pino's level numbers; numbers between two levels belong to the lower one. */
export function levelName (level: number): LogLevel {
  return LEVELS[Math.min(Math.floor(level / 10), LEVELS.length) - 1] ?? 'trace'
}

/** At most `limit` lines of a log, in their order: warnings and errors first, then the latest lines. */
export function mostSevere<T extends Pick<LogRecord, 'level'>> (log: readonly T[], limit: number): T[] {
  if (log.length <= limit) return [...log]
  const severe = log.filter(isWarningOrWorse).slice(-limit)
  const free = limit - severe.length
  const others = free > 0 ? log.filter((line) => !isWarningOrWorse(line)).slice(-free) : []
  const kept = new Set([...severe, ...others])
  return log.filter((line) => kept.has(line))
}

/** Whether the level is warn, error or fatal. */
export function isWarningOrWorse (line: Pick<LogRecord, 'level'>): boolean {
  return line.level === 'warn' || isErrorOrWorse(line)
}

/** Whether the level is error or fatal. */
export function isErrorOrWorse ({ level }: Pick<LogRecord, 'level'>): boolean {
  return level === 'error' || level === 'fatal'
}

/** Whether a line notifies of a listener that ran. */
export function isNotification ({ channel }: Pick<LogRecord, 'channel'>): boolean {
  return channel === 'event'
}

/**
 * Merges a debug line for each listener that ran into lines of a log, by their offsets and the start of the events.
 * `start` is when the request arrived, in milliseconds since the epoch.
 */
export function withNotifications (
  lines: readonly LogRecord[], events: readonly ListenerEvent[], start: number
): LogRecord[] {
  const notified = events
    .filter(({ outcome, stage }) => outcome !== 'skipped' && stage.startsWith('kernel.'))
    .map((event): LogRecord => ({
      time: new Date(start + Math.floor(event.start)).toISOString(),
      offset: event.start,
      level: 'debug',
      channel: 'event',
      message: `Notified event "${event.stage}" to listener "${event.listener}".`,
      context: {}
    }))
  return lines.concat(notified).sort(({ offset: a = 0 }, { offset: b = 0 }) => a - b)
}
