import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ParseArgsConfig } from 'node:util'
import { DEFAULT_DATA_DIR, PRODUCTION_DATA_DIR, STORE_FILE } from '../store/open.js'
import type { ProfileStorage } from '../store/storage.js'
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
  options?: CommandOptions
  /** Returns whether something needs attention: a request that fails or has not ended, a difference. */
  run: (context: CommandContext) => Promise<boolean | void>
}

/** The folder of the store that flags or environment name, as the application has it. */
export function dataFolder (flags: Flags): string {
  const folders = [DEFAULT_DATA_DIR, PRODUCTION_DATA_DIR]
  if (process.env.NODE_ENV === 'production') folders.reverse()
  const found = folders.find((folder) => existsSync(join(folder, STORE_FILE))) ?? folders[0]
  return String(flags['data-dir'] || process.env.DATA_DIR || found)
}
