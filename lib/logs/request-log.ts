import type { FastifyBaseLogger } from 'fastify'
import { levelName, type LogLevel, type LogRecord } from './log-record.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    log?: RequestLog | null
  }
}

const MAX_LINES = 10_000
/** Characters of all lines together. */
const MAX_LENGTH = 4 * 1024 * 1024
/** Characters of one line. Of a longer one only the message is kept. */
const MAX_LINE = 32 * 1024

/** The text of a line that no logger wrote. */
export type OwnLine = Pick<LogRecord, 'channel' | 'message' | 'context'>

/** A line as pino wrote it. */
type WrittenLine = Pick<LogRecord, 'level' | 'time'> & { text: string }

/** The log lines of one request. They are kept as text and parsed when they are shown: most of them never are. */
export class RequestLog {
  /** Receives the error of a handler that fails after its response was sent. */
  onLateError: ((error: unknown) => void) | null = null
  /** Whether the application's logger writes debug lines, so that those of Hindsight go through it. */
  writesOwn = false
  /** The number of lines that were added, kept or not. */
  size = 0
  /** The characters of the lines that are kept, about their bytes. */
  bytes = 0
  readonly #lines: Array<WrittenLine | LogRecord> = []
  #dropped = 0
  #droppedLength = 0

  /** Adds a line as pino wrote it; `level` is pino's number, `time` milliseconds since the epoch. */
  add (level: number, text: string, time = Date.now()): void {
    if (!this.#hasRoom(text.length)) return
    const line = { level: levelName(level), time: new Date(time).toISOString() }
    const isLong = text.length > MAX_LINE
    this.bytes += Math.min(text.length, MAX_LINE)
    this.#lines.push(isLong ? { ...line, ...messageOf(text) } : { ...line, text })
  }

  /** Adds a line that no logger writes, such as a warning of the process. */
  note (level: LogLevel, line: OwnLine): void {
    if (this.#hasRoom(line.message.length)) this.#lines.push({ level, time: new Date().toISOString(), ...line })
  }

  /** Adds a debug line of Hindsight. Where `writesOwn`, the logger writes it, and it is captured as a line of that. */
  debug (logger: FastifyBaseLogger, line: OwnLine): void {
    if (this.writesOwn) logger.debug({ channel: line.channel, ...line.context }, line.message)
    else this.note('debug', line)
  }

  /** All lines, parsed and ordered by time, and a last line that counts those that were dropped. */
  records (): LogRecord[] {
    const records = this.#lines.map((line): LogRecord => {
      if (!('text' in line)) return line
      const { text, ...rest } = line
      return { ...rest, ...parsed(text) }
    })
    records.sort((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0)
    if (this.#dropped > 0) {
      const length = this.#droppedLength.toLocaleString('en')
      const message = `${this.#dropped} more log lines of this request were not kept (about ${length} bytes)`
      records.push({ time: new Date().toISOString(), level: 'warn', channel: 'profiler', message, context: {} })
    }
    return records
  }

  #hasRoom (length: number): boolean {
    this.size++
    if (this.#lines.length < MAX_LINES && this.bytes <= MAX_LENGTH) return true
    this.#dropped++
    this.#droppedLength += length
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
  const { message = '' } = (context.err ?? {}) as { message?: unknown }
  return {
    channel: typeof channel === 'string' ? channel : 'req' in context || 'res' in context ? 'request' : 'app',
    message: typeof msg === 'string' ? msg : typeof message === 'string' ? message : '',
    context
  }
}

function messageOf (text: string): OwnLine {
  const { channel, message } = parsed(text)
  const note = `${text.length.toLocaleString('en')} characters: the fields of this line were left out`
  // Copied, since a slice would keep the whole string in memory.
  return { channel, message: Buffer.from(message.slice(0, MAX_LINE)).toString(), context: { cut: note } }
}
