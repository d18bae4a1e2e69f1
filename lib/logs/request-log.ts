import type { FastifyBaseLogger } from 'fastify'
import { isoTime } from './iso-time.js'
import { levelName, readLine, shortened, type Said } from './line.js'
import type { LogLevel, LogRecord } from './log-record.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    log?: RequestLog | null
  }
}

const DEBUG = 20
const LINE_LIMIT = 10_000
const BYTE_LIMIT = 4 * 1024 * 1024
/** Of one line: where it is longer, its beginning and its end are kept. */
const MAX_LINE = 32 * 1024

/** A record that is not read before it is needed. */
export interface LogEntry {
  readonly time: string
  readonly level: LogLevel
  read: () => LogRecord
}

/** What a record is replaced by where it is shown, such as the same record without secrets. */
export type LogView = (record: LogRecord) => LogRecord

interface Kept {
  /** Milliseconds since the epoch. */
  time: number
  level: LogLevel
  read: () => LogRecord
}

/** The log lines of one request, kept as the text that the logger made and parsed only when they are read. */
export class RequestLog {
  /** Receives the error of a handler that fails after its response was sent. */
  onLateError: ((error: unknown) => void) | null = null
  /** Whether debug lines of Hindsight itself go through the application's logger, whose level is debug or lower. */
  writesOwn = false
  readonly #lines: Kept[] = []
  readonly #notes: Kept[] = []
  #bytes = 0
  #dropped = 0
  #droppedBytes = 0

  /** How much of the memory its lines hold, about. */
  get bytes (): number {
    return this.#bytes
  }

  /** How many lines it was given, kept or not. */
  get size (): number {
    return this.#lines.length + this.#dropped
  }

  /** Keeps a line as pino wrote it; `level` is pino's number, `time` milliseconds since the epoch. */
  add (level: number, text: string, time = Date.now()): void {
    if (this.#lines.length >= LINE_LIMIT || this.#bytes > BYTE_LIMIT) {
      this.#dropped++
      this.#droppedBytes += text.length
      return
    }
    const kept = text.length > MAX_LINE ? shortened(text) : text
    const cut = kept === text ? 0 : Buffer.byteLength(text) - Buffer.byteLength(kept)
    this.#bytes += kept.length
    this.#lines.push({ time, level: levelName(level), read: () => readLine({ level, time, text: kept, cut }) })
  }

  /** Keeps a debug line of Hindsight itself. Where `writesOwn`, the logger writes it, and its line is captured. */
  debug (logger: FastifyBaseLogger, said: Said): void {
    if (this.writesOwn) logger.debug({ channel: said.channel, ...said.context }, said.message)
    else this.say(DEBUG, said)
  }

  /** Keeps a line that no logger writes. */
  say (level: number, said: Said): void {
    if (this.#lines.length >= LINE_LIMIT) this.#dropped++
    else this.#lines.push(keptRecord({ time: isoTime(Date.now()), level: levelName(level), ...said }))
  }

  /** Keeps a record that no logger wrote, such as a warning of the process. */
  note (record: LogRecord): void {
    if (this.#notes.length < LINE_LIMIT) this.#notes.push(keptRecord(record))
  }

  /** The records in the order of time, as `view` shows them. Each is read when it is needed. */
  entries (view: LogView = (record) => record): LogEntry[] {
    const kept = [...this.#lines, ...this.#notes].sort((a, b) => a.time - b.time)
    if (this.#dropped > 0) kept.push(keptRecord(this.#omission()))
    return kept.map(({ time, level, read }) => {
      let record: LogRecord | null = null
      return { time: isoTime(time), level, read: () => (record ??= view(read())) }
    })
  }

  #omission (): LogRecord {
    const bytes = this.#droppedBytes.toLocaleString('en')
    const message = `${this.#dropped} more log lines of this request were not kept (about ${bytes} bytes)`
    return { time: new Date().toISOString(), level: 'warn', channel: 'profiler', message, context: {} }
  }
}

function keptRecord (record: LogRecord): Kept {
  return { time: Date.parse(record.time), level: record.level, read: () => record }
}
