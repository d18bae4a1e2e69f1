import { linesOf, maskRecord } from '../errors/records.js'
import type { LogRecord } from '../logs/log-record.js'
import type { Mask } from '../mask/mask.js'
import { bytesOfLine, fittingLogs } from './fitting-logs.js'

/** The lines of a request's log that fit into `maxBytes` of its profile, masked, and the number of the others. */
export function profiledLogs (log: unknown, mask: Mask, maxBytes: number): { logs: LogRecord[], leftOut: number } {
  const lines = linesOf(log)
  const fitting = fittingLogs(lines, maxBytes, bytesOfLine)
  return { logs: fitting.map((line) => maskRecord(line, mask)), leftOut: lines.length - fitting.length }
}
