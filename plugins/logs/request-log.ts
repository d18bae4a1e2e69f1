import type { FastifyBaseLogger } from 'fastify'
import { isoTime } from './iso-time.js'
import { levelName, readLine, shortened, type Line, type Said, type Shown } from './line.js'
import type { LogLevel, LogRecord } from './log-record.js'

const DEBUG = 20
const LINE_LIMIT = 10_000
const BYTE_LIMIT = 4 * 1024 * 1024
/** Of one line: where it is longer, its beginning and its end are kept. */
const MAX_LINE = 32 * 1024

/** What shows records to others, without what is secret in them. */
export interface LogView {
  /** A line: its record, and what the logger wrote of it, which is null where that is not all there or hardly comes again. */
  line: (text: string | null, record: () => LogRecord) => Shown
  /** What no logger has written; the same object may be said by many requests. */
  said: (said: Said) => Shown
  /** A record that no logger wrote. */
  own: (record: LogRecord) => LogRecord
}

/** A record that is not read before somebody asks for it. */
export interface LogEntry {
  readonly time: string
  readonly level: LogLevel
  read: () => LogRecord
}

interface KeptLine extends Line {
  /** What was shown of it, and by which view: the page of a failure and its profile show the same. */
  shown: LogRecord | null
  view: LogView | null
}

/** The log lines of one request, kept as the text that the logger made and read only when somebody asks. */
export class RequestLog {
  /** The level below which the logger's own destination gets nothing. */
  outputLevel = 0
  readonly #lines: KeptLine[] = []
  readonly #own: LogRecord[] = []
  #bytes = 0
  #dropped = 0
  #droppedBytes = 0

  /** How much of the memory its lines hold, about. */
  get bytes (): number {
    return this.#bytes
  }

  /** Keeps a line as pino wrote it. */
  add (level: number, text: string): void {
    if (this.#lines.length >= LINE_LIMIT || this.#bytes > BYTE_LIMIT) {
      this.#dropped++
      this.#droppedBytes += text.length
      return
    }
    const line: KeptLine = { level, time: Date.now(), text, cut: 0, said: null, shown: null, view: null }
    if (text.length > MAX_LINE) {
      line.text = shortened(text)
      line.cut = Buffer.byteLength(text) - Buffer.byteLength(line.text)
    }
    this.#bytes += line.text.length
    this.#lines.push(line)
  }

  /** Whether lines of our own are kept here alone, whatever the destination takes. */
  keepsOwn = false

  /** Keeps a debug line of our own: where the logger's destination takes none, none needs to be written for it. */
  debug (logger: FastifyBaseLogger, said: Said): void {
    if (this.outputLevel <= DEBUG && !this.keepsOwn) logger.debug({ channel: said.channel, ...said.context }, said.message)
    else this.say(DEBUG, said)
  }

  /** Keeps a line that no logger has to write. */
  say (level: number, said: Said): void {
    if (this.#lines.length >= LINE_LIMIT) this.#dropped++
    else this.#lines.push({ level, time: Date.now(), text: '', cut: 0, said, shown: null, view: null })
  }

  /** Keeps a record that no logger wrote, such as a warning of the process. */
  note (record: LogRecord): void {
    if (this.#own.length < LINE_LIMIT) this.#own.push(record)
  }

  /** The records in the order of time, as a view shows them; each is read when it is asked for, as of a long log hardly anybody wants all. */
  entries (view?: LogView): LogEntry[] {
    const entries: LogEntry[] = this.#lines.map((line, i) => new LineEntry(line, view, i < MAX_SIMILAR || line.level >= ERROR))
    for (const record of this.#own) entries.push(new OwnEntry(record, view))
    if (this.#dropped > 0) {
      entries.push(new OwnEntry({
        time: new Date().toISOString(),
        level: 'warn',
        channel: 'profiler',
        message: `${this.#dropped} more log lines of this request were not kept (about ${this.#droppedBytes.toLocaleString('en')} bytes)`,
        context: {}
      }))
    }
    return entries.length < 2 ? entries : entries.sort((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0)
  }
}

// A long log is one of lines that differ.
const MAX_SIMILAR = 50
const ERROR = 50

class LineEntry implements LogEntry {
  readonly time: string
  readonly level: LogLevel
  readonly #line: KeptLine
  readonly #view: LogView | undefined
  readonly #comesAgain: boolean
  #record: LogRecord | null = null

  constructor (line: KeptLine, view: LogView | undefined, comesAgain: boolean) {
    this.time = isoTime(line.time)
    this.level = levelName(line.level)
    this.#line = line
    this.#view = view
    this.#comesAgain = comesAgain
  }

  read (): LogRecord {
    return (this.#record ??= this.#view === undefined ? readLine(this.#line) : shownBy(this.#view, this.#line, this.#comesAgain))
  }
}

class OwnEntry implements LogEntry {
  readonly time: string
  readonly level: LogLevel
  readonly #record: LogRecord
  readonly #view: LogView | undefined

  constructor (record: LogRecord, view?: LogView) {
    this.time = record.time
    this.level = record.level
    this.#record = record
    this.#view = view
  }

  read (): LogRecord {
    return this.#view === undefined ? this.#record : this.#view.own(this.#record)
  }
}

function shownBy (view: LogView, line: KeptLine, comesAgain: boolean): LogRecord {
  if (line.shown !== null && line.view === view) return line.shown
  const { channel, message, context } = line.said !== null ? view.said(line.said) : view.line(comesAgain && line.cut === 0 ? line.text : null, () => readLine(line))
  const shown = { time: isoTime(line.time), level: levelName(line.level), channel, message, context }
  // To hold thousands of them costs more than to read them twice.
  if (comesAgain) {
    line.shown = shown
    line.view = view
  }
  return shown
}
