import { isGrave } from '../logs/foremost.js'
import type { LogRecord } from '../logs/log-record.js'
import { counted } from '../view/counted.js'
import { MAX_STRING, plain } from './plain.js'

/** The share of the room that errors and warnings may take, so that the end of the log is told too. */
const FOREMOST_SHARE = 3 / 4
/** Lines that do not fit before it is not worth to look for one that does. */
const MAX_MISSES = 20
const NOTE_BYTES = 300

/** What can be told apart by how severe it is. */
type Levelled = Pick<LogRecord, 'level'>

/** The lines of a log that fit into so many bytes of JSON, in their order: errors and warnings first, then the newest. Only what may be kept is measured. */
export function fittingLogs<T extends Levelled> (logs: readonly T[], maxBytes: number, bytesOf: (line: T) => number): T[] {
  const kept = new Set<T>()
  let left = maxBytes - NOTE_BYTES

  // The end of a long log, and the few lines that did not fit.
  function keep (room: number, isMeant: (line: T) => boolean): void {
    const least = left - room
    for (let i = logs.length - 1, misses = 0; i >= 0 && misses < MAX_MISSES && left > least; i--) {
      const line = logs[i] as T
      if (kept.has(line) || !isMeant(line)) continue
      const bytes = bytesOf(line) + 1
      if (left - bytes < least) {
        misses++
        continue
      }
      kept.add(line)
      left -= bytes
    }
  }

  keep(left * FOREMOST_SHARE, isGrave)
  keep(left, () => true)
  return logs.filter((line) => kept.has(line))
}

const measured = new WeakMap<LogRecord, number>()

/** The bytes of a line as JSON, without what is too long in it for a profile; it is measured once. */
export function bytesOfLine (line: LogRecord): number {
  let bytes = measured.get(line)
  if (bytes === undefined) {
    bytes = bytesOf(line)
    if (bytes > MAX_STRING) bytes = bytesOf(plain(line, MAX_STRING))
    measured.set(line, bytes)
  }
  return bytes
}

/** The bytes of lines as JSON: written out where not all were measured already. */
export function bytesOfLog (logs: readonly LogRecord[]): number {
  let sum = 2
  for (const line of logs) {
    const bytes = measured.get(line)
    if (bytes === undefined) return bytesOf(logs)
    sum += bytes + 1
  }
  return sum
}

/** The bytes of a value as JSON. */
export function bytesOf (value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

/** What is left of a log, and ahead of it how many lines are not there: of this log, or before it was this one. */
export function withNote (shown: readonly LogRecord[], logs: readonly LogRecord[], before: number, reason: string): LogRecord[] {
  const dropped = logs.length - shown.length + before
  if (dropped === 0) return [...shown]
  const note = noteOf(dropped, (shown[0] ?? logs[0])?.time ?? '', reason)
  bytesOfLine(note)
  return [note, ...shown]
}

function noteOf (dropped: number, time: string, reason: string): LogRecord {
  const message = `${counted(dropped, 'line was', 'lines were')} left out, of the oldest and least severe: ${reason}.`
  return { time, level: 'warn', channel: 'profiler', message, context: {} }
}
