import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ParseArgsConfig } from 'node:util'
import { newestOf } from '../lib/store/follow.js'
import {
  checkStorageSetting, DEFAULT_DATA_DIR, NO_SQLITE, PRODUCTION_DATA_DIR, STORE_FILE
} from '../lib/store/open.js'
import { TOKEN_PATTERN, readProfile, type Profile } from '../lib/store/profile.js'
import { CRITERIA as FIELDS, readSearch, type SearchQuery } from '../lib/store/search-query.js'
import type { Criteria } from '../lib/store/criteria.js'
import { findLibrary } from '../lib/store/sqlite/availability.js'
import type { ProfileStorage } from '../lib/store/storage.js'
import { similarName } from '../lib/similar-name.js'
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
}

export interface Command {
  /** The arguments as the help shows them: `<required>` and `[optional]`. Their number is checked. */
  args: string
  summary: string
  options?: CommandOptions
  /** Returns the exit code if it is not 0. */
  run: (context: CommandContext) => Promise<number | void>
}

/** The exit code of an answer that something needs attention: a request that fails or has not ended, a difference. */
export const FOUND = 2

export const CRITERIA: CommandOptions = Object.fromEntries(Object.entries(FIELDS).flatMap(([name, { help }]) =>
  help === undefined ? [] : [[name, { type: name === 'issues' ? 'boolean' : 'string', help }]]))

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
  return similar === undefined ? '' : ` Did you mean "${similar}"?`
}

export const NOTHING_FOUND = 'No stored profile matches.'

/** The store that flags or environment name. Throws where this process can never read it. */
export function storeOf (flags: Flags): { storage: string, dataDir: string } {
  const storage = String(flags.storage || process.env.STORAGE_URL || 'sqlite')
  checkStorageSetting(storage)
  if (storage === 'memory') throw new Error('--storage (STORAGE_URL): the memory of another process cannot be read.')
  if (storage === 'sqlite' && findLibrary() === undefined) throw new Error(`Profiles cannot be read: ${NO_SQLITE}.`)
  const folders = [DEFAULT_DATA_DIR, PRODUCTION_DATA_DIR]
  if (process.env.NODE_ENV === 'production') folders.reverse()
  const found = folders.find((folder) => existsSync(join(folder, STORE_FILE))) ?? folders[0]
  return { storage, dataDir: String(flags['data-dir'] || process.env.DATA_DIR || found) }
}

/** The profile of a token, or for `latest` the newest that matches the criteria. Throws when there is none. */
export async function findProfile (store: ProfileStorage, wanted: string, criteria: Criteria = {}): Promise<Profile> {
  if (wanted !== 'latest' && !TOKEN_PATTERN.test(wanted)) {
    throw new Error(`"${wanted}" is neither a token of six hexadecimal digits nor "latest".`)
  }
  const token = wanted === 'latest' ? (await newestOf(store, criteria))?.token : wanted
  if (token === undefined) throw new Error(NOTHING_FOUND)
  const profile = await store.get(token)
  if (profile === undefined) throw new Error(`Token "${token}" was not found.`)
  return readProfile(profile)
}
