import type { LogLevel } from './log-record.js'

/** What can be told apart by how severe it is. */
export interface Levelled { readonly level: LogLevel }

/** The lines of a log that fit where there is a limit, in their order: warnings and errors before anything else, then the latest. */
export function foremost<T extends Levelled> (log: readonly T[], limit: number): T[] {
  if (log.length <= limit) return [...log]
  const grave = log.filter(isGrave).slice(-limit)
  const room = limit - grave.length
  const rest = room > 0 ? log.filter((line) => !isGrave(line)).slice(-room) : []
  const kept = new Set([...grave, ...rest])
  return log.filter((line) => kept.has(line))
}

/** Whether a line tells of something wrong. */
export function isGrave (line: Levelled): boolean {
  return line.level === 'warn' || isFailure(line)
}

/** Whether a line tells of an error. */
export function isFailure ({ level }: Levelled): boolean {
  return level === 'error' || level === 'fatal'
}
