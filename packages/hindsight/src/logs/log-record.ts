import { types } from 'node:util'
import { performance } from '../clock.js'
import type { HookRun } from '../recording/event-recorder.js'
import { isLifecycleStage, type ListenerEvent } from '../recording/events.js'
import type { FastifyBaseLogger } from 'fastify'
import { isError } from '../errors/thrown-value.js'
import { framesHere } from '../queries/stack.js'
import { cutLine, lineFields, MAX_LINE, messageKey, parsedLine, type PlainLine, type PinoLine } from './pino-line.js'

/** The levels of pino from the least to the most severe. */
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
  /** The line of the application that wrote it, `file:line:column`, where that is certain. */
  source?: string
  /** The number of the event of the hook that wrote it. */
  hook?: number
}

/** How many lines were left out of a log where this line is; 0: the line was written. */
export function linesLeftOut ({ channel, context = {} }: Partial<LogRecord>): number {
  return channel === 'profiler' && Number.isSafeInteger(context.linesLeftOut) ? Number(context.linesLeftOut) : 0
}

/** When a line was written, in milliseconds since its request arrived: `startedAt`, in milliseconds since the epoch. */
export function offsetOf ({ offset, time }: Pick<LogRecord, 'offset' | 'time'>, startedAt: number): number {
  return offset ?? Date.parse(time) - startedAt
}

/** The name of a logger's level by the numbers of its names; any other number belongs to the next lower one. */
export function levelName (level: number, numbers: Readonly<Record<string, number>>): LogLevel {
  const isAtMost = (name: LogLevel): boolean => (numbers[name] ?? Infinity) <= level
  return LEVELS.find((name) => numbers[name] === level) ?? LEVELS.findLast(isAtMost) ?? 'trace'
}

/**
 * The lines of a log, in their order, whose sizes are at most `limit` in all: warnings and errors first, then the
 * latest lines, for which `shareOfEnd` of the limit is left. By default their number is limited.
 */
export function mostSevere<T extends Pick<LogRecord, 'level'>> (
  log: readonly T[], limit: number, sizeOf: (line: T) => number = () => 1, shareOfEnd = 0
): T[] {
  const kept = new Set<T>()
  let left = limit
  const keep = (lines: readonly T[], least: number): void => {
    for (const line of lines.toReversed()) {
      const size = sizeOf(line)
      if (kept.has(line) || left - size < least) continue
      kept.add(line)
      left -= size
    }
  }
  keep(log.filter(isWarningOrWorse), left * shareOfEnd)
  keep(log, 0)
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

/** What masks a text, and a value of any type. */
interface LineMask { text: (text: string) => string, value: (value: unknown) => unknown }

/** Whether a line notifies of a listener that ran. */
export function isNotification ({ channel }: Pick<LogRecord, 'channel'>): boolean {
  return channel === 'event'
}

/**
 * Data of a log line in which the stack of each error is its last field: a truncated text has the others. DOMExceptions
 * are without their legacy number and the constants that pino finds in the prototype: their name has the same meaning.
 */
export function stacksLast (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stacksLast)
  if (typeof value !== 'object' || value === null) return value
  const { stack, ...others } = value as Record<string, unknown>
  const isLegacy = (name: string): boolean => others.type === 'DOMException' && /^code$|^[A-Z_]+_ERR$/.test(name)
  const fields = Object.entries(stack === undefined ? others : { ...others, stack }).filter(([name]) => !isLegacy(name))
  return Object.fromEntries(fields.map(([name, item]) => [name, stacksLast(item)]))
}

/**
 * Merges a debug line for each listener that ran into lines of a log, by their offsets and the start of the events.
 * `start` is when the request arrived, in milliseconds since the epoch.
 */
export function withNotifications (
  lines: readonly LogRecord[], events: readonly ListenerEvent[], start: number
): LogRecord[] {
  const notified = events
    .filter(({ outcome, stage }) => outcome !== 'skipped' && isLifecycleStage(stage))
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

/** The number of lines of a request's log that the page of a failure has; notifications are not counted. */
const MAX_SHOWN = 200

/** The most severe lines of a log, masked, with the notifications of listeners, and how many were left out. */
export function severeLines (
  log: RequestLog | undefined, events: readonly ListenerEvent[], start: number, mask: LineMask
): { logs: LogRecord[], logsOmitted?: number } {
  const all = log?.records() ?? []
  const shown = mostSevere(all, MAX_SHOWN)
  const logs = withNotifications(shown.flatMap((line) => log?.masked(line, mask) ?? []), events, start)
  return shown.length === all.length ? { logs } : { logs, logsOmitted: all.length - shown.length }
}

/** Of one request: lines, and the characters of all lines together. */
interface LogLimits { lines: number, bytes: number }

const LIMITS: LogLimits = { lines: 10_000, bytes: 4 * 1024 * 1024 }
/** Frames of a stack, and lines that have one. 8 are of what calls this; nestjs-pino has 6 more, a line of Knex 8. */
const MAX_CALLS = 17
/** Those in which the first call of the application mostly is: 30 % less time where a request has many lines. */
const NEAR_CALLS = 10
const MANY_LINES = 20
const MAX_STACKS = 200
const MAX_LATE_STACKS = 50

/**
 * A line: parsed, or as pino wrote it. `at`: when it was written, on the clock of `performance.now()`; `calls`: the
 * frames that led to it, or null: see `addCalls`; `isOneOfMany`: whether few frames are searched first.
 */
export interface KeptLine {
  at: number
  level: LogLevel
  line: PlainLine | PinoLine
  calls?: string | null
  isOneOfMany?: boolean
  hook?: HookRun | null
}

/** Captures the frames that led to a line that was added: the calls that add it would double their time. */
export function addCalls (kept: KeptLine): void {
  if (kept.calls !== null) return
  const limits = kept.isOneOfMany === true ? [NEAR_CALLS, MAX_CALLS] : [MAX_CALLS]
  kept.calls = framesHere(addCalls, limits, false) ?? ''
}

/** What a log needs of the recording that it belongs to. */
export interface LoggedRecording {
  readonly isLate: boolean
  readonly isRecording: boolean
  readonly timing: { readonly startedAt: number, readonly startedTime: number }
}

interface LogOptions {
  limits?: LogLimits
  /** Receives the error of a line that is written after the response; it is called by the logger. */
  onLateError?: (error: unknown) => void
  /** The hook of the application that writes a line; null where no hook does. */
  currentHook?: () => HookRun | null
}

/** The log lines of one request. They are kept as text and parsed when they are shown: most of them never are. */
export class RequestLog {
  /** Whether the application's logger writes debug lines: then it writes those of Hindsight, too. */
  writesDebug = false
  /** The characters of the lines that are kept, about their bytes. */
  bytes = 0
  /** It has the time at which the request arrived. */
  readonly recording: LoggedRecording
  readonly onLateError: LogOptions['onLateError']
  /** The last error that the application has logged as one; `by`: the beginning of a sentence about that. */
  logged: { error: unknown, by: string } | undefined
  readonly #currentHook: NonNullable<LogOptions['currentHook']>
  readonly #limits: LogLimits
  readonly #lines: KeptLine[] = []
  /** By the contexts of lines: the page and the profile show the same. */
  #masked: { mask: LineMask, contexts: Map<object, LogRecord['context']> } | undefined
  #messageKey: string | undefined
  #isFinished = false
  #dropped = 0

  constructor (
    recording: LoggedRecording, { limits = LIMITS, onLateError, currentHook = () => null }: LogOptions = {}
  ) {
    this.#currentHook = currentHook
    this.recording = recording
    this.onLateError = onLateError
    this.#limits = limits
  }

  /** Whether a line was dropped. */
  get isFull (): boolean {
    return this.#dropped > 0
  }

  /** Adds a line; its `calls` are null then where they are needed. */
  add (kept: KeptLine): void {
    const { line } = kept
    if (!this.#hasSpace('text' in line ? line.text.length : 0)) return
    if ('text' in line) {
      this.bytes += Math.min(line.text.length, MAX_LINE)
      if (line.text.length > MAX_LINE) kept.line = cutLine(line)
    }
    const maxStacks = this.recording.isLate ? MAX_LATE_STACKS : MAX_STACKS
    const hook = this.#currentHook()
    if (hook !== null) kept.hook = hook
    if (this.recording.isRecording && this.#lines.length < maxStacks) kept.calls ??= null
    if (this.#lines.length >= MANY_LINES) kept.isOneOfMany = true
    this.#lines.push(kept)
  }

  /** Removes a line that belongs to another request. */
  remove (kept: KeptLine): void {
    const index = this.#lines.indexOf(kept)
    if (index !== -1) this.#lines.splice(index, 1)
  }

  /** Adds a line that no logger writes, such as a warning of the process. */
  note (level: LogLevel, line: PlainLine): void {
    const kept: KeptLine = { at: performance.now(), level, line }
    this.add(kept)
    addCalls(kept)
  }

  /** Keeps the error that the application logs at the level error or fatal: `fields`, or one of them. */
  keepError (fields: object, by = 'The log has'): void {
    if (types.isProxy(fields)) return
    // No getter is called.
    const values = Object.values(Object.getOwnPropertyDescriptors(fields)).map(({ value }): unknown => value)
    const error = [fields, ...values].find(isError)
    if (error !== undefined) this.logged = { error, by }
  }

  /** Adds a debug line of Hindsight: through the logger, from which it is captured, if that writes debug lines. */
  debug (logger: FastifyBaseLogger, line: PlainLine): void {
    if (this.writesDebug) logger.debug({ channel: line.channel, ...line.context }, line.message)
    else this.add({ at: performance.now(), level: 'debug', line, calls: '' })
  }

  /** Ends the log: work that outlives its request may continue to log. */
  finish (): void {
    this.#isFinished = true
  }

  /**
   * All lines, parsed and in the order in which they were written, and a last line that counts those dropped. The
   * function finds the line of the application in frames.
   */
  records (sourceOf: (frames: string) => string | null = () => null): LogRecord[] {
    // The message of a line may be one of its fields: lines with a message of their own have the key.
    const example = this.#lines.find(({ line }) => 'text' in line && line.message !== undefined)?.line as PinoLine
    this.#messageKey ??= example && messageKey(lineFields(example), example)
    const records = this.#lines.toSorted((a, b) => a.at - b.at).map((kept) => {
      // The page and the profile show the same line.
      if ('text' in kept.line) kept.line = parsedLine(kept.line, this.#messageKey)
      const source = kept.calls ? sourceOf(kept.calls) : null
      const { position = 0 } = kept.hook ?? {}
      const record = this.#record(kept.at, kept.level, kept.line)
      return { ...record, ...source !== null && { source }, ...position !== 0 && { hook: position } }
    })
    if (this.#dropped > 0) {
      const message = this.recording.isLate
        ? 'Further log lines after the response were not kept'
        : `${this.#dropped} more log lines of this request were not kept`
      records.push(this.#record(performance.now(), 'warn', { channel: 'profiler', message, context: {} }))
    }
    return records
  }

  masked ({ context, message, ...rest }: LogRecord, mask: LineMask): LogRecord {
    if (this.#masked?.mask !== mask) this.#masked = { mask, contexts: new Map() }
    const { contexts } = this.#masked
    const shown = contexts.get(context) ?? mask.value(context) as LogRecord['context']
    contexts.set(context, shown)
    return { ...rest, message: mask.text(message), context: shown }
  }

  // The time follows from the offset: the clock of the machine may be set back during the request.
  #record (at: number, level: LogLevel, { channel, message, context }: PlainLine): LogRecord {
    const { startedAt, startedTime } = this.recording.timing
    // The logger writes the first line before the request is recorded.
    const offset = Math.max(0, Math.round((at - startedAt) * 1_000) / 1_000)
    const time = new Date(startedTime + Math.floor(offset)).toISOString()
    return { time, offset, level, channel, message, context }
  }

  #hasSpace (length: number): boolean {
    if (this.#isFinished) return false
    const { lines, bytes } = this.#limits
    if (this.#lines.length < lines && this.bytes + Math.min(length, MAX_LINE) <= bytes) return true
    this.#dropped++
    return false
  }
}
