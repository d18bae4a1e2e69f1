import type { FastifyBaseLogger } from 'fastify'
import { isoTime } from './iso-time.js'
import type { LogLevel, LogRecord } from './log-record.js'

const DEBUG = 20
const LINE_LIMIT = 10_000
const BYTE_LIMIT = 4 * 1024 * 1024
/** Of one line: where it is longer, its beginning and its end are kept. */
const MAX_LINE = 32 * 1024
const HEAD = 8 * 1024
const TAIL = 2 * 1024
const MESSAGE = /"msg":"((?:[^"\\]|\\.)*)"\}\s*$/

const LEVELS: ReadonlyArray<[number, LogLevel]> = [[60, 'fatal'], [50, 'error'], [40, 'warn'], [30, 'info'], [20, 'debug']]

type Shown = Pick<LogRecord, 'channel' | 'message' | 'context'>

/** What is said without a logger. */
export interface Said extends Shown {
  /** Whether nothing in it has come with the request, so that nothing has to be hidden. */
  isOurs?: boolean
}

/** What shows records to others, without what is secret in them. */
export interface LogView {
  /** A line: its record, and what the logger wrote of it, which is null where that is not all there or hardly comes again. */
  line: (text: string | null, record: () => LogRecord) => Shown
  /** What no logger has written; the same object may be said by many requests. */
  said: (said: Said) => Shown
  /** A record that no logger wrote. */
  own: (record: LogRecord) => LogRecord
}

interface Line {
  level: number
  time: number
  text: string
  /** How many bytes were cut out of its middle; 0 where it is whole. */
  cut: number
  /** What no logger has written. */
  said: Said | null
  /** What was shown of it, and by which view: the page of a failure and its profile show the same. */
  shown: LogRecord | null
  view: LogView | null
}

/** The log lines of one request, kept as the text that the logger made and read only when somebody asks. */
export class RequestLog {
  /** The level below which the logger's own destination gets nothing. */
  outputLevel = 0
  readonly #lines: Line[] = []
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
    const line: Line = { level, time: Date.now(), text, cut: 0, said: null, shown: null, view: null }
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

  /** The records in the order of time, as a view shows them. */
  records (view?: LogView): LogRecord[] {
    const records = view === undefined
      ? [...this.#lines.map(toRecord), ...this.#own]
      : [...this.#lines.map((line, i) => shownBy(view, line, i < MAX_SIMILAR || line.level >= ERROR)), ...this.#own.map((record) => view.own(record))]
    if (this.#dropped > 0) {
      records.push({
        time: new Date().toISOString(),
        level: 'warn',
        channel: 'profiler',
        message: `${this.#dropped} more log lines of this request were not kept (about ${this.#droppedBytes.toLocaleString('en')} bytes)`,
        context: {}
      })
    }
    return records.length < 2 ? records : records.sort((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0)
  }
}

// A long log is one of lines that differ.
const MAX_SIMILAR = 50
const ERROR = 50

function shownBy (view: LogView, line: Line, comesAgain: boolean): LogRecord {
  if (line.shown !== null && line.view === view) return line.shown
  const { channel, message, context } = line.said !== null ? view.said(line.said) : view.line(comesAgain && line.cut === 0 ? line.text : null, () => toRecord(line))
  const shown = { time: isoTime(line.time), level: levelName(line.level), channel, message, context }
  // To hold thousands of them costs more than to read them twice.
  if (comesAgain) {
    line.shown = shown
    line.view = view
  }
  return shown
}

export function levelName (level: number): LogLevel {
  return LEVELS.find(([least]) => level >= least)?.[1] ?? 'trace'
}

// What is kept is copied: a part of a text would keep the whole of it in memory.
function shortened (text: string): string {
  return Buffer.from(`${text.slice(0, HEAD)}\n${text.slice(-TAIL)}`).toString()
}

// The logger writes the message last; what stands in front of it is no JSON any more.
function cutRecord ({ level, time, text, cut }: Line): LogRecord {
  const end = text.lastIndexOf('\n', text.length - 2)
  const [head, tail] = [text.slice(0, end), text.slice(end + 1)]
  const message = MESSAGE.exec(tail)?.[1]
  const note = `${cut.toLocaleString('en')} bytes of this line were left out`
  return {
    time: isoTime(time),
    level: levelName(level),
    channel: /"channel":"([\w.-]{1,100})"/.exec(head)?.[1] ?? 'app',
    message: message === undefined ? note : JSON.parse(`"${message}"`) as string,
    // Nobody knows to which name the rest of a value belongs: only the beginning can be masked.
    context: { cut: note, begins: head }
  }
}

function toRecord (line: Line): LogRecord {
  if (line.said !== null) {
    const { channel, message, context } = line.said
    return { time: isoTime(line.time), level: levelName(line.level), channel, message, context }
  }
  if (line.cut > 0) return cutRecord(line)
  const { level, time, text } = line
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(text) as Record<string, unknown>
  } catch {
    return { time: isoTime(time), level: levelName(level), channel: 'app', message: text.trimEnd(), context: {} }
  }
  const { level: _level, time: _time, pid: _pid, hostname: _hostname, reqId: _reqId, channel, msg, ...context } = fields
  return {
    time: isoTime(time),
    level: levelName(level),
    channel: typeof channel === 'string' ? channel : 'req' in context || 'res' in context ? 'request' : 'app',
    message: typeof msg === 'string' ? msg : messageOf(context),
    context
  }
}

function messageOf (context: Record<string, unknown>): string {
  const { err } = context
  const message = typeof err === 'object' && err !== null ? (err as { message?: unknown }).message : undefined
  return typeof message === 'string' ? message : ''
}
