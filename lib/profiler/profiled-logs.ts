import { entriesOf } from '../errors/records.js'
import type { Mask } from '../mask/mask.js'
import type { LogRecord } from '../logs/log-record.js'
import { RequestLog } from '../logs/request-log.js'
import { bytesOfLine, fittingLogs } from './fitting-logs.js'

/** Of a record as JSON. */
const LEAST_BYTES = 100

/** A request's lines as its profile has them, masked; of a log that is too long for it only those are read that it has room for. */
export function profiledLogs (log: unknown, mask: Mask, maxBytes: number): { logs: LogRecord[], leftOut: number } {
  const entries = entriesOf(log, mask)
  // As JSON a record takes about as much as its line; what no logger wrote takes its names at least.
  if (!(log instanceof RequestLog) || 2 * log.bytes + LEAST_BYTES * entries.length < maxBytes) return { logs: entries.map((entry) => entry.read()), leftOut: 0 }
  const fitting = fittingLogs(entries, maxBytes, (entry) => bytesOfLine(entry.read()))
  return { logs: fitting.map((entry) => entry.read()), leftOut: entries.length - fitting.length }
}
