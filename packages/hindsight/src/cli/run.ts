import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageVersion } from '../require.js'
import {
  checkStorageSetting, DEFAULT_DATA_DIR, NO_SQLITE, openStorage, PRODUCTION_DATA_DIR, STORE_FILE
} from '../store/open.js'
import { findLibrary } from '../store/sqlite/availability.js'
import type { ProfileStorage } from '../store/storage.js'
import { visibleLine } from '../view/text.js'
import {
  findProfile, hintFor, searchOf, type Command, type CommandContext, type CommandOptions, type Flags
} from './command.js'
import { compare, replay, to } from './commands/compare.js'
import { lifecycle } from './commands/lifecycle.js'
import { mcp } from './commands/mcp.js'
import { list, partCommands, purge, show, tail } from './commands/profiles.js'
import { skill } from './commands/skill.js'
import { waiting } from './commands/waiting.js'
import { Terminal, type Output } from './terminal.js'

export const COMMANDS: Readonly<Record<string, Command>> = {
  list, tail, waiting, show, ...partCommands, compare, replay, to, purge, mcp, skill, lifecycle
}

const HELP = ['help', '--help', '-h']
const VERSION = ['version', '--version', '-v']
/** The exit code of a command after which something needs attention. */
const FOUND = 2
const COMMON: CommandOptions = {
  json: { type: 'boolean', help: 'JSON, for programs' },
  storage: { type: 'string', help: 'sqlite, or postgres://… (STORAGE_URL)' },
  'data-dir': { type: 'string', help: 'the folder of the SQLite file (DATA_DIR)' },
  help: { type: 'boolean', short: 'h', help: 'print this help' }
}

/** Runs the command line in its own process, and ends the process. */
export async function runCommandLine (args: readonly string[]): Promise<void> {
  const { stdout, stderr } = process
  // A reader such as `head` closes the pipe when it has enough.
  stdout.once('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  const exitCode = await executeCommand(args, stdout, stderr)
  for (const stream of [stdout, stderr]) await new Promise((resolve) => { stream.write('', resolve) })
  // Timers of an application that `lifecycle` has loaded would keep the process running.
  process.exit(exitCode)
}

/** Runs a command and returns its exit code: 0, 1 for a failure, or 2 where something needs attention. */
export async function executeCommand (
  [name = 'help', ...rest]: readonly string[], out: Output, err: Output
): Promise<number> {
  const terminal = new Terminal(out)
  // A promise: a server of the Model Context Protocol may run several tools at once.
  let opening: Promise<ProfileStorage> | undefined
  try {
    let text: string[] = []
    if (HELP.includes(name)) text = help()
    if (VERSION.includes(name)) text = [packageVersion()]
    if (text.length > 0) {
      await terminal.lines(text)
      return 0
    }
    const { command, flags, args } = readCommand(name, rest)
    const open = async (): Promise<ProfileStorage> => await (opening ??= openStore(flags))
    const find: CommandContext['find'] = async (wanted = '') =>
      await findProfile(await open(), wanted, searchOf(flags).criteria)
    const print: CommandContext['print'] = async (data, lines) =>
      await (flags.json === true ? terminal.json(data, 2) : terminal.lines(lines()))
    if (flags.help !== true) return await command.run({ args, flags, terminal, print, open, find }) ? FOUND : 0
    await terminal.lines(commandHelp(name, command))
    return 0
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    await new Terminal(err).lines([`fastify-hindsight: ${visibleLine(message)}`])
    return 1
  } finally {
    const store = await opening?.catch(() => undefined)
    await store?.close()
  }
}

/** Parses a command line without running it. Throws an error when it is invalid. */
export function readCommand (name: string, rest: string[]): { command: Command, flags: Flags, args: string[] } {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) {
    const names = Object.keys(COMMANDS)
    const hint = hintFor(name, [...names, ...HELP, ...VERSION])
    throw new Error(`There is no command "${name}"; the commands are ${names.join(', ')}.${hint}`)
  }
  const options = { ...command.options, ...COMMON }
  for (const token of parseArgs({ args: rest, strict: false, options, tokens: true }).tokens) {
    if (token.kind !== 'option' || Object.hasOwn(options, token.name)) continue
    const hint = hintFor(token.rawName, Object.keys(options).map((option) => `--${option}`))
    throw new Error(`Unknown option "${token.rawName}".${hint}`)
  }
  const { values, positionals: args } = parseArgs({ args: rest, allowPositionals: true, options })
  const flags = values as Flags
  const required = command.args.split('<').length - 1
  const optional = command.args.split('[').length - 1
  if (flags.help !== true && (args.length < required || args.length > required + optional)) {
    throw new Error(`Usage: ${usage(name, command)}; arguments given: ${args.length}.`)
  }
  return { command, flags, args }
}

function usage (name: string, { args }: Command): string {
  return `fastify-hindsight ${`${name} ${args}`.trim()} [options]`
}

function help (): string[] {
  return [
    'Reads the profiles that an application has stored.',
    '',
    'Usage: fastify-hindsight <command> [options]',
    '',
    ...Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(11)} ${summary}`),
    '',
    '"fastify-hindsight <command> --help" lists its options.',
    '"fastify-hindsight --version" prints the version.'
  ]
}

function commandHelp (name: string, command: Command): string[] {
  const options = Object.entries({ ...command.options, ...COMMON })
  return [
    `Usage: ${usage(name, command)}`,
    '',
    `${command.summary.charAt(0).toUpperCase()}${command.summary.slice(1)}.`,
    '',
    ...options.map(([option, { help }]) => `  --${option.padEnd(11)} ${help}`)
  ]
}

/** Opens the store that flags or environment name, as the service does, if this process can read it. */
function openStore (flags: Flags): Promise<ProfileStorage> {
  const storage = String(flags.storage || process.env.STORAGE_URL || 'sqlite')
  checkStorageSetting(storage)
  if (storage === 'memory') throw new Error('--storage (STORAGE_URL): the memory of another process cannot be read.')
  if (storage === 'sqlite' && findLibrary() === undefined) throw new Error(`Profiles cannot be read: ${NO_SQLITE}.`)
  const folders = [DEFAULT_DATA_DIR, PRODUCTION_DATA_DIR]
  if (process.env.NODE_ENV === 'production') folders.reverse()
  const found = folders.find((folder) => existsSync(join(folder, STORE_FILE))) ?? folders[0]
  const dataDir = String(flags['data-dir'] || process.env.DATA_DIR || found)
  const path = join(dataDir, STORE_FILE)
  if (storage === 'sqlite' && !existsSync(path)) {
    const advice = 'run the command in the folder where the application was started, or set --data-dir (DATA_DIR)'
    throw new Error(`There is no store at ${path}: ${advice}.`)
  }
  return openStorage({ storage, dataDir, mayReplace: false, warn: (message) => process.stderr.write(`${message}\n`) })
}
