import type { FlattenedException, StackFrame } from '../errors/exception.js'
import type { ErrorReport } from '../errors/report.js'
import { rootCause, type RootCause } from '../errors/masked-exceptions.js'
import { firstOwnFrame } from '../errors/stack-frame.js'
import { isErrorOrWorse, isNotification } from '../logs/log-record.js'

/** The message of the error that a report is about, or its name where the message is empty. */
export function detail ({ exceptions, reason }: ErrorReport): string {
  const { message, name } = exceptions.at(-1) ?? { message: reason, name: 'Error' }
  return message.trim() === '' ? name : message
}

/** The root cause of a report; of 404 and 405 the HTTP error. Null without an exception. */
export function mainCause ({ status, exceptions }: ErrorReport): RootCause | null {
  return rootCause(status === 404 || status === 405 ? exceptions.slice(-1) : exceptions)
}

/** The headline of a report: the message of its root cause. */
export function headline (report: ErrorReport): string {
  return mainCause(report)?.message ?? detail(report)
}

/** The source that a report shows first: a frame of the application, otherwise the handler of the route. */
export function mainSource (report: ErrorReport): { frame: StackFrame, title: string } | null {
  const { handler, exceptions } = report
  const frame = mainCause(report)?.frame ?? firstOwnFrame(exceptions)
  if (frame?.excerpt !== undefined) return { frame, title: 'In your code' }
  if (handler === undefined) return null
  return { frame: handler, title: report.input === undefined ? 'Route handler' : 'Route' }
}

interface ChainLine { before: string, frame: StackFrame | undefined, index: number }

/** The errors of a chain besides that of the headline, each with its relation to the one before it. */
export function chainLines (report: ErrorReport): ChainLine[] {
  const { exceptions, status } = report
  const isOutermost = status === 404 || status === 405
  const others = isOutermost ? exceptions.slice(0, -1).reverse() : exceptions.slice(1)
  return others.map((exception) => {
    const frame = isOutermost ? undefined : exception.frames.find(({ own }) => own)
    const before = isOutermost ? 'caused by' : frame === undefined ? 'reported as' : 'rethrown at'
    return { before, frame, index: exceptions.indexOf(exception) }
  })
}

/** The number of log lines, omitted ones included, and the number of errors among the lines that are shown. */
export function logCounts ({ logs, logsOmitted = 0 }: ErrorReport): { lines: number, failures: number } {
  const shown = logs.filter((line) => !isNotification(line))
  return { lines: shown.length + logsOmitted, failures: shown.filter(isErrorOrWorse).length }
}

/** The address of the profile; undefined for one that a browser could run as a script. */
export function profileUrl ({ profile }: ErrorReport): string | undefined {
  return profile !== undefined && /^(https?:\/\/|\/)/.test(profile.url) ? profile.url : undefined
}

/** All exceptions of a chain, members of aggregates included. */
export function everyException (chain: readonly FlattenedException[]): FlattenedException[] {
  return chain.flatMap((exception) => [...(exception.errors ?? []).flatMap(everyException), exception])
}
