import { linesOf, maskRecord } from '../errors/records.js'
import type { LogRecord } from '../logs/log-record.js'
import { RequestLog } from '../logs/request-log.js'
import type { Mask } from '../mask/mask.js'
import { bytesOfLine, fittingLogs } from './fitting-logs.js'

/** Of a record as JSON, besides its text. */
const MIN_BYTES = 100

/** The lines of a request's log that fit into `maxBytes` of its profile, masked, and the number of the others. */
export function profiledLogs (log: unknown, mask: Mask, maxBytes: number): { logs: LogRecord[], leftOut: number } {
  const masked = new Map<LogRecord, LogRecord>()
  const shown = (line: LogRecord): LogRecord => {
    const known = masked.get(line) ?? maskRecord(line, mask)
    masked.set(line, known)
    return known
  }
  const lines = linesOf(log)
  const fits = !(log instanceof RequestLog) || 2 * log.bytes + MIN_BYTES * lines.length < maxBytes
  const fitting = fits ? lines : fittingLogs(lines, maxBytes, (line) => bytesOfLine(shown(line)))
  return { logs: fitting.map(shown), leftOut: lines.length - fitting.length }
}
