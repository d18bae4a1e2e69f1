import type { LogLevel, LogRecord } from './log-record.js'

const LINE_LIMIT = 10_000
const BYTE_LIMIT = 4 * 1024 * 1024

const LEVELS: ReadonlyArray<[number, LogLevel]> = [[60, 'fatal'], [50, 'error'], [40, 'warn'], [30, 'info'], [20, 'debug']]

interface Line {
  level: number
  time: number
  text: string
}

/** The log lines of one request, kept as the text that the logger made and read only when somebody asks. */
export class RequestLog {
  /** The level below which the logger's own destination gets nothing. */
  outputLevel = 0
  readonly #lines: Line[] = []
  readonly #own: LogRecord[] = []
  #bytes = 0
  #dropped = 0

  /** Keeps a line as pino wrote it. */
  add (level: number, text: string): void {
    if (this.#lines.length >= LINE_LIMIT || this.#bytes > BYTE_LIMIT) {
      this.#dropped++
      return
    }
    this.#bytes += text.length
    this.#lines.push({ level, time: Date.now(), text })
  }

  /** Keeps a record that no logger wrote, such as a warning of the process. */
  note (record: LogRecord): void {
    if (this.#own.length < LINE_LIMIT) this.#own.push(record)
  }

  /** The records in the order of time. */
  records (): LogRecord[] {
    const records = [...this.#lines.map(toRecord), ...this.#own]
    if (this.#dropped > 0) {
      records.push({
        time: new Date().toISOString(),
        level: 'warn',
        channel: 'profiler',
        message: `${this.#dropped} more log lines of this request were not kept`,
        context: {}
      })
    }
    return records.sort((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0)
  }
}

export function levelName (level: number): LogLevel {
  return LEVELS.find(([least]) => level >= least)?.[1] ?? 'trace'
}

function toRecord ({ level, time, text }: Line): LogRecord {
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(text) as Record<string, unknown>
  } catch {
    return { time: new Date(time).toISOString(), level: levelName(level), channel: 'app', message: text.trimEnd(), context: {} }
  }
  const { level: _level, time: _time, pid: _pid, hostname: _hostname, reqId: _reqId, channel, msg, ...context } = fields
  return {
    time: new Date(time).toISOString(),
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
