import type { LogRecord } from '../../../logs/log-record.js'

/** From the least to the most severe. */
export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

const DEFAULT_LEVEL = 'info'

/** Which lines of a log are wanted. */
export interface LogFilter {
  /** The least severe that is shown. */
  level: typeof LEVELS[number]
  /** Those that are shown; none: all. */
  channels: readonly string[]
  /** What the line has to contain, in any case. */
  text: string
  time: 'absolute' | 'relative'
}

/** Reads a filter from the fields of an address; what makes no sense counts as not given. */
export function readFilter (level: string, channels: readonly string[], text: string, time: string): LogFilter {
  return {
    level: LEVELS.find((known) => known === level) ?? DEFAULT_LEVEL,
    channels,
    text: text.slice(0, 500),
    time: time === 'relative' ? 'relative' : 'absolute'
  }
}

/** Whether a line is wanted; one of a level that nobody knows is never hidden for it. */
export function isShown ({ level, channel, message, context }: LogRecord, filter: LogFilter): boolean {
  const severity = LEVELS.indexOf(level)
  return (severity === -1 || severity >= LEVELS.indexOf(filter.level)) &&
    (filter.channels.length === 0 || filter.channels.includes(String(channel))) &&
    (filter.text === '' || `${String(message)} ${JSON.stringify(context) ?? ''}`.toLowerCase().includes(filter.text.toLowerCase()))
}

/** Whether a line tells of something that went wrong. */
export function isProblem ({ level }: LogRecord): boolean {
  return level === 'warn' || level === 'error' || level === 'fatal'
}
