import type { LogLevel } from './log-record.js'

/** Anything that has a level. */
export interface Levelled { readonly level: LogLevel }

/** At most `limit` lines of a log, in their order: warnings and errors take precedence, then the latest lines. */
export function foremost<T extends Levelled> (log: readonly T[], limit: number): T[] {
  if (log.length <= limit) return [...log]
  const grave = log.filter(isGrave).slice(-limit)
  const room = limit - grave.length
  const rest = room > 0 ? log.filter((line) => !isGrave(line)).slice(-room) : []
  const kept = new Set([...grave, ...rest])
  return log.filter((line) => kept.has(line))
}

/** Whether a line is a warning or an error. */
export function isGrave (line: Levelled): boolean {
  return line.level === 'warn' || isFailure(line)
}

/** Whether a line is an error. */
export function isFailure ({ level }: Levelled): boolean {
  return level === 'error' || level === 'fatal'
}
