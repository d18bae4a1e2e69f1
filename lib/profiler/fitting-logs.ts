import { isWarningOrWorse, type Levelled, type LogRecord } from '../logs/log-record.js'
import { counted } from '../view/counted.js'
import { bytesOf, MAX_STRING, plain } from './plain.js'

/** The share of the room that errors and warnings may take, so that the end of the log is told too. */
const FOREMOST_SHARE = 3 / 4
/** Lines that do not fit before it is not worth to look for one that does. */
const MAX_MISSES = 20
const NOTE_BYTES = 300

/** The lines of a log that fit into so many bytes of JSON, in their order: errors and warnings first, then the newest. Only what may be kept is measured. */
export function fittingLogs<T extends Levelled> (logs: readonly T[], maxBytes: number, measure: (line: T) => number): T[] {
  const kept = new Set<T>()
  let left = maxBytes - NOTE_BYTES

  // The end of a long log, and the few lines that did not fit.
  function keep (room: number, isMeant: (line: T) => boolean): void {
    const least = left - room
    for (let i = logs.length - 1, misses = 0; i >= 0 && misses < MAX_MISSES && left > least; i--) {
      const line = logs[i] as T
      if (kept.has(line) || !isMeant(line)) continue
      const bytes = measure(line) + 1
      if (left - bytes < least) {
        misses++
        continue
      }
      kept.add(line)
      left -= bytes
    }
  }

  keep(left * FOREMOST_SHARE, isWarningOrWorse)
  keep(left, () => true)
  return logs.filter((line) => kept.has(line))
}

/** The bytes that a line takes in a profile, which cuts what is too long in it. */
export function bytesOfLine (line: LogRecord): number {
  const bytes = bytesOf(line)
  return bytes > MAX_STRING ? bytesOf(plain(line, MAX_STRING)) : bytes
}

/** The note that stands ahead of a log of which lines were left out: how many, and why. */
export function noteOf (dropped: number, time: string, reason: string): LogRecord {
  const message = `${counted(dropped, 'line was', 'lines were')} left out, of the oldest and least severe: ${reason}.`
  return { time, level: 'warn', channel: 'profiler', message, context: {} }
}
