import type { ParseArgsConfig } from 'node:util'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
import type { Terminal } from './terminal.js'

export type Flags = Readonly<Record<string, string | boolean | undefined>>

/** What a command is given to do its work. */
export interface CommandContext {
  /** Without the name of the command. */
  args: readonly string[]
  flags: Flags
  terminal: Terminal
  /** Opens the store that flags and environment name; it is closed behind the command. */
  open: () => Promise<ProfileStorage>
  /** Aborted when the process is asked to end. */
  signal: AbortSignal
}

/** One verb of the command line. */
export interface Command {
  name: string
  /** What stands behind the name, such as `<token>`. */
  args: string
  /** What it does, in a line. */
  what: string
  /** Whether it takes the criteria of a search. */
  criteria?: boolean
  flags?: NonNullable<ParseArgsConfig['options']>
  /** What its own flags do, by name. */
  help?: Readonly<Record<string, string>>
  /** Whether it runs the code of others, who may leave something open: the process is ended behind it. */
  ends?: boolean
  /** How many arguments it takes, at least and at most. */
  arity: readonly [least: number, most: number]
  run (context: CommandContext): Promise<void>
}

/** An error of whoever typed the command: told without a stack. */
export class CommandError extends Error {
  readonly exitCode: number

  /** `exitCode`: 1 where something was not found or could not be done, 2 where the command means nothing. */
  constructor (message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}
