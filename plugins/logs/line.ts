import { isoTime } from './iso-time.js'
import type { LogLevel, LogRecord } from './log-record.js'

const HEAD = 8 * 1024
const TAIL = 2 * 1024
const MESSAGE = /"msg":"((?:[^"\\]|\\.)*)"\}\s*$/

const LEVELS: ReadonlyArray<[number, LogLevel]> = [[60, 'fatal'], [50, 'error'], [40, 'warn'], [30, 'info'], [20, 'debug']]

/** What a line says, whenever it was written. */
export type Shown = Pick<LogRecord, 'channel' | 'message' | 'context'>

/** What is said without a logger. */
export interface Said extends Shown {
  /** Whether nothing in it has come with the request, so that nothing has to be hidden. */
  isOurs?: boolean
}

/** A line as it is kept. */
export interface Line {
  level: number
  time: number
  /** As the logger wrote it; of a long one its beginning and its end. */
  text: string
  /** How many bytes were cut out of its middle; 0 where it is whole. */
  cut: number
  /** What no logger has written. */
  said: Said | null
}

/** The name of a number of pino's. */
export function levelName (level: number): LogLevel {
  return LEVELS.find(([least]) => level >= least)?.[1] ?? 'trace'
}

/** The beginning and the end of a long line. They are copied: a part of a text would keep the whole of it in memory. */
export function shortened (text: string): string {
  return Buffer.from(`${text.slice(0, HEAD)}\n${text.slice(-TAIL)}`).toString()
}

// The logger writes the message last; what stands in front of it is no JSON any more.
function readCutLine ({ level, time, text, cut }: Line): LogRecord {
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

/** What a line says. */
export function readLine (line: Line): LogRecord {
  if (line.said !== null) {
    const { channel, message, context } = line.said
    return { time: isoTime(line.time), level: levelName(line.level), channel, message, context }
  }
  if (line.cut > 0) return readCutLine(line)
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
