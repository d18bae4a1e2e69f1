import type { FlattenedException, StackFrame } from '../errors/exception.js'
import type { ErrorReport } from '../errors/report.js'
import { isErrorOrWorse } from '../logs/log-record.js'

/** The headline of a report: the message of its error, or its name where the message is empty. */
export function headline ({ exceptions, reason }: ErrorReport): string {
  const { message, name } = exceptions.at(-1) ?? { message: reason, name: 'Error' }
  return message.trim() === '' ? name : message
}

/** The frame of the application that is shown first: of the error itself, otherwise of its nearest cause. */
export function firstOwnFrame ({ exceptions }: ErrorReport): StackFrame | undefined {
  return exceptions.toReversed().flatMap(({ frames }) => frames).find(({ own }) => own)
}

/** The number of lines that were logged and of the errors among them, including those that the report does not hold. */
export function logCounts ({ logs, logsOmitted }: ErrorReport): { lines: number, failures: number } {
  const { lines = 0, failures = 0 } = logsOmitted ?? {}
  return { lines: logs.length + lines, failures: logs.filter(isErrorOrWorse).length + failures }
}

/** The address of the profile; undefined for one that a browser could run as a script. */
export function profileUrl ({ profile }: ErrorReport): string | undefined {
  return profile !== undefined && /^(https?:\/\/|\/)/.test(profile.url) ? profile.url : undefined
}

/** All exceptions of a chain, members of aggregates included. */
export function everyException (chain: readonly FlattenedException[]): FlattenedException[] {
  return chain.flatMap((exception) => [...(exception.errors ?? []).flatMap(everyException), exception])
}
