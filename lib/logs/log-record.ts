import type { ListenerEvent } from '../lifecycle/events.js'
import type { FastifyBaseLogger } from 'fastify'
import type { Recording } from '../recording/recording.js'

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

declare module '../recording/recording.js' {
  interface Recording {
    /** The lines that the logger of the request has written; absent where it is not captured. */
    log?: RequestLog
  }
}

const MAX_LINES = 10_000
/** Characters of all lines together. */
const MAX_LENGTH = 4 * 1024 * 1024
/** Characters of one line. Of a longer one only the message is kept. */
const MAX_LINE = 32 * 1024

/** The text of a line that no logger wrote. */
export type OwnLine = Pick<LogRecord, 'channel' | 'message' | 'context'>

/** A line: parsed, or as pino wrote it. `at`: when it was written, on the clock of `performance.now()`. */
interface KeptLine { at: number, level: LogLevel, line: OwnLine | string }

/** Receives the error of a handler that fails after its response was sent. */
export type LateErrorListener = (recording: Recording, error: unknown) => void

/** The log lines of one request. They are kept as text and parsed when they are shown: most of them never are. */
export class RequestLog {
  /** Whether the application's logger writes debug lines: then it writes those of Hindsight, too. */
  writesDebug = false
  /** The number of lines that were added, kept or not. */
  size = 0
  /** The characters of the lines that are kept, about their bytes. */
  bytes = 0
  /** It has the time at which the request arrived. */
  readonly recording: Recording
  readonly onLateError: LateErrorListener | undefined
  readonly #lines: KeptLine[] = []
  #isFinished = false
  #dropped = 0

  constructor (recording: Recording, onLateError?: LateErrorListener) {
    this.recording = recording
    this.onLateError = onLateError
  }

  /** Adds a line as pino wrote it; `level` is pino's number, `at` a time on the clock of `performance.now()`. */
  add (level: number, text: string, at = performance.now()): void {
    if (!this.#hasSpace()) return
    this.bytes += Math.min(text.length, MAX_LINE)
    this.#lines.push({ at, level: levelName(level), line: text.length > MAX_LINE ? messageOf(text) : text })
  }

  /** Adds a line that no logger writes, such as a warning of the process. */
  note (level: LogLevel, line: OwnLine): void {
    if (this.#hasSpace()) this.#lines.push({ at: performance.now(), level, line })
  }

  /** Adds a debug line of Hindsight: through the logger, from which it is captured, if that writes debug lines. */
  debug (logger: FastifyBaseLogger, line: OwnLine): void {
    if (this.writesDebug) logger.debug({ channel: line.channel, ...line.context }, line.message)
    else this.note('debug', line)
  }

  /** Ends the log: work that outlives its request may continue to log. */
  finish (): void {
    this.#isFinished = true
  }

  /** All lines, parsed and in the order in which they were written, and a last line that counts those dropped. */
  records (): LogRecord[] {
    const records = this.#lines.toSorted((a, b) => a.at - b.at).map((kept) => {
      // The page and the profile show the same line.
      if (typeof kept.line === 'string') kept.line = parsed(kept.line)
      return this.#record(kept.at, kept.level, kept.line)
    })
    if (this.#dropped > 0) {
      const message = `${this.#dropped} more log lines of this request were not kept`
      records.push(this.#record(performance.now(), 'warn', { channel: 'profiler', message, context: {} }))
    }
    return records
  }

  // The time follows from the offset: the clock of the machine may be set back during the request.
  #record (at: number, level: LogLevel, { channel, message, context }: OwnLine): LogRecord {
    const { startedAt, startedTime } = this.recording.timing
    // The logger writes the first line before the request is recorded.
    const offset = Math.max(0, Math.round((at - startedAt) * 1_000) / 1_000)
    const time = new Date(startedTime + Math.floor(offset)).toISOString()
    return { time, offset, level, channel, message, context }
  }

  #hasSpace (): boolean {
    this.size++
    if (this.#isFinished) return false
    if (this.#lines.length < MAX_LINES && this.bytes <= MAX_LENGTH) return true
    this.#dropped++
    return false
  }
}

function parsed (text: string): OwnLine {
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(text) as Record<string, unknown>
  } catch {
    return { channel: 'app', message: text.trimEnd(), context: {} }
  }
  const { level: _level, time: _time, pid: _pid, hostname: _hostname, reqId: _reqId, channel, msg, ...context } = fields
  const { message: ofError } = (context.err ?? {}) as { message?: unknown }
  // Many services of logs need the `messageKey` of pino to be `message`.
  const message = [msg, context.message, ofError].find((value) => typeof value === 'string')
  return {
    channel: typeof channel === 'string' ? channel : 'req' in context || 'res' in context ? 'request' : 'app',
    message: message ?? '',
    context
  }
}

function messageOf (text: string): OwnLine {
  const { channel, message } = parsed(text)
  const note = `${text.length.toLocaleString('en')} characters: the fields of this line were left out`
  // Copied, since a slice would keep the whole string in memory.
  return { channel, message: Buffer.from(message.slice(0, MAX_LINE)).toString(), context: { cut: note } }
}
