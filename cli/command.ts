import { withListenerLines, type Profile } from '../lib/profiler/profile.js'
import { readSearch, type SearchQuery } from '../lib/profiler/search-query.js'
import type { Criteria } from '../lib/profiler/storage/criteria.js'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
import { newestOf } from '../lib/profiler/summary.js'
import { TOKEN_PATTERN } from '../lib/profiler/token.js'
import type { Terminal } from './terminal.js'

/** The options of a command line, by name. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>

/** An option of a command, as `parseArgs` of Node.js takes it, with its line of the help. */
export interface CommandOption {
  type: 'string' | 'boolean'
  short?: string
  multiple?: boolean
  help: string
}

/** What a command receives. */
export interface CommandContext {
  args: readonly string[]
  flags: Flags
  terminal: Terminal
  /** Writes the data as JSON with `--json`, otherwise the lines. */
  print: (data: unknown, lines: () => readonly string[]) => Promise<void>
  /** Opens the store that flags or environment name. It is closed after the command. */
  open: () => Promise<ProfileStorage>
  /** Aborted by SIGINT and SIGTERM. */
  signal: AbortSignal
}

/** One command. */
export interface Command {
  /** The arguments as the help shows them: `<required>` and `[optional]`. They are counted, too. */
  args: string
  summary: string
  /** More sentences for the help of the command. */
  details?: string
  /** The criteria of a search are options of the command; `pages`: `--limit` and `--cursor`, too. */
  criteria?: 'pages' | 'all'
  options?: Readonly<Record<string, CommandOption>>
  run: (context: CommandContext) => Promise<void>
}

/** A mistake of the user, or a problem that the user can solve: its message is printed without a stack. */
export class CommandError extends Error {
  readonly exitCode: number

  /** `exitCode`: 1 when something was not found or failed, 2 when the command line is invalid. */
  constructor (message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The message of anything that was thrown. */
export function messageOf (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The criteria of a search and their help: the criterion `min_duration` is the option `--min-duration`. */
export const CRITERIA_HELP: Readonly<Record<string, string>> = {
  url: 'parts of the URL, separated by blanks',
  status: '404, or a class such as 4xx',
  method: 'GET, POST, …',
  route: 'name of the route; * for any part of it',
  exception: 'text in the name or message of an exception',
  ip: 'IP address',
  min_duration: 'minimum duration in milliseconds',
  from: 'time in ISO 8601 (UTC without a zone), or an age such as 1h',
  until: 'time in ISO 8601, or an age such as 1h',
  error: '1: failures only; 0: successes only',
  parent: 'token of the parent request',
  token: 'token'
}
const PAGES = {
  sort: { type: 'string', help: 'time, duration or status; -time (descending) by default' },
  limit: { type: 'string', help: 'how many profiles; 50 by default' },
  cursor: { type: 'string', help: 'the cursor of the previous page' }
} as const
/** The greatest `--limit`. */
export const MAX_LIMIT = 1_000_000

/** The options of a command that takes criteria. */
export function criteriaOptions ({ criteria }: Command): Record<string, CommandOption> {
  if (criteria === undefined) return {}
  const options = Object.entries(CRITERIA_HELP).map(([name, help]) =>
    [optionOf(name), { type: 'string', help }] as const)
  return { ...Object.fromEntries(options), ...criteria === 'pages' && PAGES }
}

/** Reads the criteria of a search from options. A `CommandError` names the option that is invalid. */
export function searchOf (flags: Flags): SearchQuery {
  const names = [...Object.keys(CRITERIA_HELP), ...Object.keys(PAGES)]
  const fields = names.map((name) => [name, flags[optionOf(name)]] as const)
  try {
    return readSearch({ ...Object.fromEntries(fields), q: flags.q }, MAX_LIMIT)
  } catch (error) {
    const given = fields.flatMap(([name, value]) => value === undefined ? [] : [name])
    const message = messageOf(error).replace(/"([a-z_]+)"/, (quoted, name: string) =>
      given.includes(name) ? `--${optionOf(name)}` : quoted)
    throw new CommandError(message, 2)
  }
}

function optionOf (criterion: string): string {
  return criterion.replace('_', '-')
}

export const NO_PROFILE = (text: string): string =>
  `"${text}" is neither a token of six hexadecimal digits nor "latest".`

/**
 * The profile of a token, or for `latest` the newest that matches the criteria. Throws a `CommandError` when there is
 * none.
 */
export async function findProfile (
  open: () => Promise<ProfileStorage>, wanted: string, criteria: Criteria = {}
): Promise<Profile> {
  if (wanted !== 'latest' && !TOKEN_PATTERN.test(wanted)) {
    throw new CommandError(NO_PROFILE(wanted), 2)
  }
  const store = await open()
  const token = wanted === 'latest' ? (await newestOf(store, criteria))?.token : wanted
  if (token === undefined) throw new CommandError(nothingFound(criteria))
  const profile = await store.get(token)
  if (profile === undefined) throw new CommandError(`Token "${token}" was not found.`)
  return withListenerLines(profile)
}

/** The message for a search without a result. */
export function nothingFound (criteria: Criteria): string {
  return Object.keys(criteria).length === 0 ? 'No profile is stored.' : 'No stored profile matches.'
}
