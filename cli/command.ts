import { withListenerLines, type Profile } from '../lib/profiler/profile.js'
import { CRITERIA, readSearch, type SearchQuery } from '../lib/profiler/search-query.js'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
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
  /** Opens the store that flags or environment name. It is closed after the command. */
  open: () => Promise<ProfileStorage>
  /** Aborted by SIGINT and SIGTERM. */
  signal: AbortSignal
}

/** One command. */
export interface Command {
  name: string
  /** The arguments in the help, such as `<token>`. */
  args: string
  summary: string
  /** The least and the greatest number of arguments. */
  arity: readonly [least: number, greatest: number]
  /** The criteria of a search are options of the command; `pages`: `--limit` and `--cursor`, too. */
  criteria?: 'pages' | 'all'
  options?: Readonly<Record<string, CommandOption>>
  /** Ends the process after the command, as code of the application may keep it open. */
  exits?: boolean
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

const HELP: Readonly<Record<string, string>> = {
  url: 'text that the URL contains, in any case',
  status: '404, or a class such as 4xx',
  method: 'GET, POST, …',
  route: 'name of the route; * for any part of it',
  exception: 'text in name or message of any exception of the chain',
  ip: 'address of the client, or a range such as 10.0.0.0/8',
  min_duration: 'milliseconds at least',
  from: 'time in ISO 8601 (UTC where it has no zone)',
  until: 'time in ISO 8601',
  error: '1: failures only; 0: successes only',
  parent: 'token of the request that caused it',
  token: 'token'
}
const MAX_LIMIT = 1_000_000

/** The criteria of a search and their help: the criterion `min_duration` is the option `--min-duration`. */
export const CRITERIA_HELP: ReadonlyMap<string, string> = new Map(CRITERIA.map((name) => [name, HELP[name] ?? name]))

/** The options of a command that takes criteria. */
export function criteriaOptions ({ criteria }: Command): Record<string, CommandOption> {
  if (criteria === undefined) return {}
  const options = [...CRITERIA_HELP].map(([name, help]) => [optionOf(name), { type: 'string', help }] as const)
  const pages = {
    limit: { type: 'string', help: 'how many at most; 50 by default' },
    cursor: { type: 'string', help: 'the cursor of the previous page' }
  } as const
  return { ...Object.fromEntries(options), ...criteria === 'pages' && pages }
}

/** Reads the criteria of a search from options. A `CommandError` names the option that is invalid. */
export function searchOf (flags: Flags): SearchQuery {
  const fields = [...CRITERIA, 'limit', 'cursor'].map((name) => [name, flags[optionOf(name)]] as const)
  try {
    return readSearch(Object.fromEntries(fields.filter(([, value]) => value !== undefined)), MAX_LIMIT)
  } catch (error) {
    const message = (error as Error).message.replace(/"([a-z_]+)"/, (_, name: string) => `--${optionOf(name)}`)
    throw new CommandError(message, 2)
  }
}

/** The profile of a token. Throws a `CommandError` when there is none. */
export async function profileOf (open: () => Promise<ProfileStorage>, token: string): Promise<Profile> {
  checkToken(token)
  const profile = await (await open()).get(token)
  if (profile === undefined) throw new CommandError(`Token "${token}" was not found.`)
  return withListenerLines(profile)
}

/** The profile of a token, or for `latest` the newest that matches the criteria among the flags. */
export async function namedProfile ({ args: [wanted = ''], flags, open }: CommandContext): Promise<Profile> {
  const { criteria } = searchOf(flags)
  if (wanted !== 'latest') {
    if (TOKEN_PATTERN.test(wanted)) return await profileOf(open, wanted)
    throw new CommandError(`"${wanted}" is neither a token of six hexadecimal digits nor "latest".`, 2)
  }
  const [newest] = (await (await open()).search({ criteria, limit: 1 })).profiles
  if (newest === undefined) throw nothingFound(criteria)
  return await profileOf(open, newest.token)
}

/** The error for a search without a result. */
export function nothingFound (criteria: object): CommandError {
  return new CommandError(Object.keys(criteria).length === 0 ? 'No profile is stored.' : 'No stored profile matches.')
}

/** Throws a `CommandError` for a text that is not a token. */
export function checkToken (token: string): void {
  if (!TOKEN_PATTERN.test(token)) throw new CommandError(`"${token}" is not a token of six hexadecimal digits.`, 2)
}

/** The error for a new file that cannot be written. */
export function notWritable (path: string, error: unknown): CommandError {
  const { code, message } = error as NodeJS.ErrnoException
  return new CommandError(code === 'EEXIST' ? `${path} exists already.` : `${path} cannot be written: ${message}`)
}

function optionOf (criterion: string): string {
  return criterion.replace('_', '-')
}
