import { isoTime } from './iso-time.js'
import type { LogLevel, LogRecord } from './log-record.js'

const HEAD = 8 * 1024
const TAIL = 2 * 1024
const MESSAGE = /"msg":"((?:[^"\\]|\\.)*)"\}\s*$/

const LEVELS: ReadonlyArray<[least: number, name: LogLevel]> = [
  [60, 'fatal'], [50, 'error'], [40, 'warn'], [30, 'info'], [20, 'debug']
]

/** A line that no logger has written. */
export type Said = Pick<LogRecord, 'channel' | 'message' | 'context'>

/** A line as it is kept. */
export interface Line {
  level: number
  /** Milliseconds since the epoch. */
  time: number
  /** As the logger wrote it; the beginning and the end of a long line. */
  text: string
  /** How many bytes were cut out of its middle; 0 where it is whole. */
  cut: number
}

/** The name of pino's level number. */
export function levelName (level: number): LogLevel {
  return LEVELS.find(([least]) => level >= least)?.[1] ?? 'trace'
}

/** The beginning and the end of a long line, copied: a part of a string would keep the whole string in memory. */
export function shortened (text: string): string {
  return Buffer.from(`${text.slice(0, HEAD)}\n${text.slice(-TAIL)}`).toString()
}

/** The record of a line. */
export function readLine (line: Line): LogRecord {
  const { level, time, text, cut } = line
  return { time: isoTime(time), level: levelName(level), ...(cut > 0 ? readCutLine(line) : readWholeLine(text)) }
}

function readWholeLine (text: string): Said {
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(text) as Record<string, unknown>
  } catch {
    return { channel: 'app', message: text.trimEnd(), context: {} }
  }
  const { level: _level, time: _time, pid: _pid, hostname: _hostname, reqId: _reqId, channel, msg, ...context } = fields
  return {
    channel: typeof channel === 'string' ? channel : 'req' in context || 'res' in context ? 'request' : 'app',
    message: typeof msg === 'string' ? msg : messageOf(context),
    context
  }
}

// The logger writes the message last; what stands before it is no JSON any more.
function readCutLine ({ text, cut }: Line): Said {
  const end = text.lastIndexOf('\n', text.length - 2)
  const [head, tail] = [text.slice(0, end), text.slice(end + 1)]
  const message = MESSAGE.exec(tail)?.[1]
  const note = `${cut.toLocaleString('en')} bytes of this line were left out`
  return {
    channel: /"channel":"([\w.-]{1,100})"/.exec(head)?.[1] ?? 'app',
    message: message === undefined ? note : JSON.parse(`"${message}"`) as string,
    // It is unknown to which name the rest of a value belongs: only the beginning can be masked.
    context: { cut: note, begins: head }
  }
}

function messageOf (context: Record<string, unknown>): string {
  const { err } = context
  const message = typeof err === 'object' && err !== null ? (err as { message?: unknown }).message : undefined
  return typeof message === 'string' ? message : ''
}
