import type { LogRecord } from '../logs/log-record.js'
import { counted } from '../view/counted.js'

/** The share of the room that errors and warnings may take, so that the end of the log is told too. */
const FOREMOST_SHARE = 3 / 4
/** Lines that do not fit before it is not worth to look for one that does. */
const MAX_MISSES = 20
const NOTE_BYTES = 300
const FOREMOST: ReadonlySet<string> = new Set(['warn', 'error', 'fatal'])

/** The lines of a log that fit into so many bytes of JSON: errors and warnings first, then the newest; a note tells how many are left out. */
export function boundLogs (logs: readonly LogRecord[], maxBytes: number, reason: string): LogRecord[] {
  const kept = new Set<LogRecord>()
  let left = maxBytes - NOTE_BYTES

  // Only what may be kept is measured: the end of a long log, and the few lines that did not fit.
  function keep (room: number, isMeant: (line: LogRecord) => boolean): void {
    const least = left - room
    for (let i = logs.length - 1, misses = 0; i >= 0 && misses < MAX_MISSES && left > least; i--) {
      const line = logs[i] as LogRecord
      if (kept.has(line) || !isMeant(line)) continue
      const bytes = Buffer.byteLength(JSON.stringify(line)) + 1
      if (left - bytes < least) {
        misses++
        continue
      }
      kept.add(line)
      left -= bytes
    }
  }

  keep(left * FOREMOST_SHARE, ({ level }) => FOREMOST.has(level))
  keep(left, () => true)
  const shown = logs.filter((line) => kept.has(line))
  const dropped = logs.length - shown.length
  return dropped === 0 ? shown : [noteOf(dropped, (shown[0] ?? logs[0] as LogRecord).time, reason), ...shown]
}

function noteOf (dropped: number, time: string, reason: string): LogRecord {
  const message = `${counted(dropped, 'line was', 'lines were')} left out, of the oldest and least severe: ${reason}.`
  return { time, level: 'warn', channel: 'profiler', message, context: {} }
}
