export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'

/** One line of a request's log. */
export interface LogRecord {
  /** ISO 8601, in UTC, with milliseconds. */
  time: string
  level: LogLevel
  channel: string
  message: string
  context: Record<string, unknown>
}
