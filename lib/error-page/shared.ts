import { sep } from 'node:path'
import type { FlattenedException, StackFrame } from '../errors/exception.js'
import type { ErrorReport } from '../errors/report.js'
import { isInternal } from '../errors/stack-frame.js'
import { visibleLine } from '../view/visible.js'
import { isFailure } from '../logs/foremost.js'
import type { LogLevel } from '../logs/log-record.js'

/** The levels from the least to the most severe. */
export const LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']

/** The error that a report is about: the last of its chain. */
export function subject (report: ErrorReport): FlattenedException {
  return report.exceptions.at(-1) ?? { name: 'Error', message: report.reason, frames: [], stack: '' }
}

/** The headline of a report; an error without a message is known by its name. */
export function headline (report: ErrorReport): string {
  const { message, name } = subject(report)
  return message.trim() === '' ? name : message
}

/** The place in the application's own code to look at first: of the error itself, otherwise of its nearest cause. */
export function culprit (report: ErrorReport): StackFrame | undefined {
  for (const exception of report.exceptions.toReversed()) {
    const own = exception.frames.find((frame) => frame.own && !isInternal(frame.file))
    if (own) return own
  }
}

/** A file, line and column as editors take them. */
export function fullPlace ({ file, line, column }: StackFrame): string {
  return visibleLine(file) + (line > 0 ? `:${line}` : '') + (line > 0 && column > 0 ? `:${column}` : '')
}

/** A file as a person would name it: relative to the project, or to its package. */
export function shortFile (file: string, root = process.cwd()): string {
  const inPackage = file.lastIndexOf(`node_modules${sep}`)
  if (inPackage !== -1) return visibleLine(file.slice(inPackage + 13))
  return visibleLine(file.startsWith(root + sep) ? file.slice(root.length + 1) : file)
}

/** `file:line` of a frame, as far as the runtime knows it. */
export function place (frame: StackFrame): string {
  if (frame.file === '') return '(no file)'
  return frame.line > 0 ? `${shortFile(frame.file)}:${frame.line}` : shortFile(frame.file)
}

/** All exceptions of a tree, the members of aggregates with them. */
export function everyException (chain: readonly FlattenedException[]): FlattenedException[] {
  return chain.flatMap((exception) => [...(exception.errors ?? []).flatMap(everyException), exception])
}

/** How many lines were logged, those that the report does not hold included. */
export function lineCount ({ logs, logsOmitted }: ErrorReport): number {
  return logs.length + (logsOmitted?.lines ?? 0)
}

/** How many of them tell of an error. */
export function failureCount ({ logs, logsOmitted }: ErrorReport): number {
  return logs.filter(isFailure).length + (logsOmitted?.failures ?? 0)
}

/** The time of day of a record; what is no time is told as it is. */
export function timeOfDay (time: string): string {
  return /T(\d\d:\d\d:\d\d\.\d{3})/.exec(time)?.[1] ?? visibleLine(time.slice(0, 40))
}
