import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ParseArgsConfig } from 'node:util'
import { DEFAULT_DATA_DIR, PRODUCTION_DATA_DIR, STORE_FILE } from '../store/open.js'
import { newestOf } from '../store/follow.js'
import { TOKEN_PATTERN, readProfile, type Profile } from '../store/profile.js'
import { CRITERIA as FIELDS, readSearch, type SearchQuery } from '../store/search-query.js'
import type { Criteria } from '../store/criteria.js'
import type { ProfileStorage } from '../store/storage.js'
import { similarName } from '../similar-name.js'
import type { Terminal } from './terminal.js'

export type Flags = Readonly<Record<string, string | boolean | string[] | undefined>>

/** The options of a command, as `parseArgs` of Node.js takes them, each with its line of the help. */
export type CommandOptions =
  Readonly<Record<string, NonNullable<ParseArgsConfig['options']>[string] & { help: string }>>

export interface CommandContext {
  args: readonly string[]
  flags: Flags
  terminal: Terminal
  /** Writes the data as JSON with `--json`, otherwise the lines. */
  print: (data: unknown, lines: () => readonly string[]) => Promise<void>
  /** Opens the store that flags or environment name. It is closed after the command. */
  open: () => Promise<ProfileStorage>
  /** The profile of a token in that store, or for `latest` the newest that matches the criteria of the flags. */
  find: (wanted?: string) => Promise<Profile>
}

export interface Command {
  /** The arguments as the help shows them: `<required>` and `[optional]`. Their number is checked. */
  args: string
  summary: string
  options?: CommandOptions
  /** Returns whether something needs attention: a request that fails or has not ended, a difference. */
  run: (context: CommandContext) => Promise<boolean | void>
}

export const CRITERIA: CommandOptions = criteriaOptions()

function criteriaOptions (): CommandOptions {
  const options: Record<string, CommandOptions[string]> = {}
  for (const [name, { help }] of Object.entries(FIELDS)) {
    if (help !== undefined) options[name] = { type: name === 'issues' ? 'boolean' : 'string', help }
  }
  return options
}

export const SEARCH: CommandOptions = {
  ...CRITERIA,
  sort: { type: 'string', help: 'time, duration or status; -time (descending) by default' },
  limit: { type: 'string', help: 'how many profiles; 50 by default' },
  cursor: { type: 'string', help: 'the cursor of the previous page' }
}

const MAX_LIMIT = 1_000_000

export function searchOf (flags: Flags): SearchQuery {
  const fields = Object.entries(flags).filter(([name]) => name in SEARCH)
  const texts = fields.map(([name, value]) => [name, value === true ? 'yes' : value])
  return readSearch(Object.fromEntries(texts), MAX_LIMIT)
}

/** The end of a message about an unknown name. */
export function hintFor (name: string, known: readonly string[]): string {
  const similar = similarName(name, known)
  if (similar === undefined) return ''
  return ` Did you mean "${similar}"?`
}

export const NOTHING_FOUND = 'No stored profile matches.'

/** The profile of a token, or for `latest` the newest that matches the criteria. Throws when there is none. */
export async function findProfile (store: ProfileStorage, wanted: string, criteria: Criteria = {}): Promise<Profile> {
  let token: string | undefined = wanted
  if (wanted === 'latest') token = (await newestOf(store, criteria))?.token
  else if (!TOKEN_PATTERN.test(wanted)) {
    throw new Error(`"${wanted}" is neither a token of six hexadecimal digits nor "latest".`)
  }
  if (token === undefined) throw new Error(NOTHING_FOUND)
  const profile = await store.get(token)
  if (profile === undefined) throw new Error(`Token "${token}" was not found.`)
  return readProfile(profile)
}

/** The folder of the store that flags or environment name, as the application has it. */
export function dataFolder (flags: Flags): string {
  const folders = [DEFAULT_DATA_DIR, PRODUCTION_DATA_DIR]
  if (process.env.NODE_ENV === 'production') folders.reverse()
  const found = folders.find((folder) => existsSync(join(folder, STORE_FILE))) ?? folders[0]
  return String(flags['data-dir'] || process.env.DATA_DIR || found)
}
