import { sep } from 'node:path'
import type { FlattenedException, StackFrame } from '../errors/exception.js'
import type { ErrorReport } from '../errors/report.js'
import { isErrorOrWorse } from '../logs/log-record.js'
import { visibleLine } from '../view/visible.js'

/** The headline of a report: the message of its error, or its name where the message is empty. */
export function headline ({ exceptions, reason }: ErrorReport): string {
  const { message, name } = exceptions.at(-1) ?? { message: reason, name: 'Error' }
  return message.trim() === '' ? name : message
}

/** The frame of the application that is shown first: of the error itself, otherwise of its nearest cause. */
export function culprit ({ exceptions }: ErrorReport): StackFrame | null {
  for (const { frames } of exceptions.toReversed()) {
    const own = frames.find((frame) => frame.own)
    if (own) return own
  }
  return null
}

/** A file relative to the working directory, or to `node_modules`. */
export function shortFile (file: string, root = process.cwd()): string {
  const inPackage = file.lastIndexOf(`node_modules${sep}`)
  if (inPackage !== -1) return visibleLine(file.slice(inPackage + 13))
  return visibleLine(file.startsWith(root + sep) ? file.slice(root.length + 1) : file)
}

/** `file:line` of a frame, as far as they are known. */
export function place (frame: StackFrame): string {
  if (frame.file === '') return '(no file)'
  return frame.line > 0 ? `${shortFile(frame.file)}:${frame.line}` : shortFile(frame.file)
}

/** All exceptions of a chain, members of aggregates included. */
export function everyException (chain: readonly FlattenedException[]): FlattenedException[] {
  return chain.flatMap((exception) => [...(exception.errors ?? []).flatMap(everyException), exception])
}

/** The number of lines that were logged, including those that the report does not hold. */
export function lineCount ({ logs, logsOmitted }: ErrorReport): number {
  return logs.length + (logsOmitted?.lines ?? 0)
}

/** The number of errors among them. */
export function failureCount ({ logs, logsOmitted }: ErrorReport): number {
  return logs.filter(isErrorOrWorse).length + (logsOmitted?.failures ?? 0)
}

/** The time of day of an ISO 8601 time; other text is truncated. */
export function timeOfDay (time: string): string {
  return /T(\d\d:\d\d:\d\d\.\d{3})/.exec(time)?.[1] ?? visibleLine(time.slice(0, 40))
}
