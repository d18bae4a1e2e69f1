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
/** Characters of one line. Of a longer one only the head and the tail are kept. */
const MAX_LINE = 32 * 1024
const HEAD = 8 * 1024
const TAIL = 2 * 1024
const LAST_FIELD = /"msg":"((?:[^"\\]|\\.)*)"\}\s*$/

/** The text of a line that no logger wrote. */
export type OwnLine = Pick<LogRecord, 'channel' | 'message' | 'context'>

interface WrittenLine {
  level: LogLevel
  /** ISO 8601. */
  time: string
  /** As pino wrote it. */
  text: string
  /** Bytes that are missing between the head and the tail; 0 for a whole line. */
  cut: number
}

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
    const kept = text.length > MAX_LINE ? headAndTail(text) : text
    const cut = kept === text ? 0 : Buffer.byteLength(text) - Buffer.byteLength(kept)
    this.bytes += kept.length
    this.#lines.push({ level: levelName(level), time: new Date(time).toISOString(), text: kept, cut })
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
    const records = this.#lines.map((line) => 'text' in line ? parseLine(line) : line)
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

// Copied, since a slice would keep the whole string in memory.
function headAndTail (text: string): string {
  return Buffer.from(`${text.slice(0, HEAD)}\n${text.slice(-TAIL)}`).toString()
}

function parseLine ({ level, time, text, cut }: WrittenLine): LogRecord {
  return { time, level, ...(cut > 0 ? parseCut(text, cut) : parseWhole(text)) }
}

function parseWhole (text: string): OwnLine {
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

// Pino writes the message last. The text between is no JSON any more.
function parseCut (text: string, cut: number): OwnLine {
  const end = text.lastIndexOf('\n', text.length - 2)
  const [head, tail] = [text.slice(0, end), text.slice(end + 1)]
  const message = LAST_FIELD.exec(tail)?.[1]
  const note = `${cut.toLocaleString('en')} bytes of this line were left out`
  return {
    channel: /"channel":"([\w.-]{1,100})"/.exec(head)?.[1] ?? 'app',
    message: message === undefined ? note : JSON.parse(`"${message}"`) as string,
    // The tail may begin within a secret whose name is cut off, so it cannot be masked and is not shown.
    context: { cut: note, begins: head }
  }
}
