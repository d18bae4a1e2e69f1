import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DEFAULT_DATA_DIR, NO_SQLITE, openStorage, STORE_FILE } from '../lib/profiler/storage/open.js'
import { findLibrary } from '../lib/profiler/storage/sqlite/database.js'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
import { visibleLine } from '../lib/view/visible.js'
import {
  CommandError, criteriaOptions, messageOf, type Command, type CommandContext, type CommandOption, type Flags
} from './command.js'
import { compare } from './commands/compare.js'
import { cpu } from './commands/cpu.js'
import { headers } from './commands/headers.js'
import { lifecycle } from './commands/lifecycle.js'
import { list, search, tail } from './commands/list.js'
import { mcp } from './commands/mcp.js'
import { pin, purge, show, unpin } from './commands/profiles.js'
import { replay, to } from './commands/replay.js'
import { exportCommand, importCommand } from './commands/transfer.js'
import { Terminal, type Output } from './terminal.js'

/** The commands in the order of the help. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  list,
  search,
  show,
  headers,
  compare,
  tail,
  pin,
  unpin,
  purge,
  export: exportCommand,
  import: importCommand,
  to,
  replay,
  cpu,
  mcp,
  lifecycle
}

const COMMON: Readonly<Record<string, CommandOption>> = {
  json: { type: 'boolean', help: 'JSON, for programs' },
  storage: { type: 'string', help: 'sqlite, or postgres://… (STORAGE_URL)' },
  'data-dir': { type: 'string', help: 'the folder of the SQLite file (DATA_DIR)' },
  help: { type: 'boolean', short: 'h', help: 'print this help' }
}

/** Runs the command line in its own process, and ends the process. */
export async function run (args: readonly string[]): Promise<void> {
  const { stdout, stderr } = process
  // A reader such as `head` closes the pipe when it has enough.
  stdout.once('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort())
  const exitCode = await execute(args, stdout, stderr, controller.signal)
  for (const stream of [stdout, stderr]) await new Promise((resolve) => { stream.write('', resolve) })
  // Timers of an application that `lifecycle` has loaded would keep the process running.
  process.exit(exitCode)
}

/** Runs a command and returns its exit code: 0, 1 for a failure, 2 for an invalid command line. */
export async function execute (
  [name = 'help', ...rest]: readonly string[], out: Output, err: Output,
  signal = new AbortController().signal
): Promise<number> {
  const terminal = new Terminal(out)
  // A promise: a server of the Model Context Protocol may run several tools at once.
  let opening: Promise<ProfileStorage> | undefined
  try {
    if (['help', '--help', '-h'].includes(name)) {
      await terminal.help(help())
      return 0
    }
    const { command, flags, args } = readCommand(name, rest)
    const open = async (): Promise<ProfileStorage> => await (opening ??= openStore(flags, name === 'import')
      .catch((error: unknown) => {
        opening = undefined
        throw error
      }))
    const print: CommandContext['print'] = async (data, lines) =>
      await (flags.json === true ? terminal.json(data, 2) : terminal.lines(lines()))
    if (flags.help === true) await terminal.help(commandHelp(name, command))
    else await command.run({ args, flags, terminal, print, open, signal })
    return 0
  } catch (error) {
    await new Terminal(err).lines([`fastify-hindsight: ${visibleLine(messageOf(error))}`])
    return error instanceof CommandError ? error.exitCode : 1
  } finally {
    const store = await opening?.catch(() => undefined)
    await store?.close()
  }
}

/** Parses a command line without running it. Throws a `CommandError` when it is invalid. */
export function readCommand (
  name: string, rest: readonly string[]
): { command: Command, flags: Flags, args: readonly string[] } {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) {
    throw new CommandError(`There is no command "${name}"; the commands are ${Object.keys(COMMANDS).join(', ')}.`, 2)
  }
  const options = { ...COMMON, ...criteriaOptions(command), ...command.options }
  let parsed: ReturnType<typeof parseArgs>
  try {
    parsed = parseArgs({ args: [...rest], allowPositionals: true, options })
  } catch (error) {
    const [message] = messageOf(error).split('. To specify')
    throw new CommandError(`${message}. "fastify-hindsight ${name} --help" lists the options.`, 2)
  }
  const { values, positionals: args } = parsed
  const flags = values as Flags
  const required = command.args.split('<').length - 1
  const optional = command.args.split('[').length - 1
  if (flags.help !== true && (args.length < required || args.length > required + optional)) {
    const given = args.length === 0 ? 'no argument was' : `${args.length} arguments were`
    throw new CommandError(`fastify-hindsight ${name} ${command.args}: ${given} given.`, 2)
  }
  return { command, flags, args }
}

function help (): string[] {
  return [
    'Reads the profiles that an application has stored.',
    '',
    'Usage: fastify-hindsight <command> [options]',
    '',
    ...Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(14)} ${summary}`),
    '',
    '"fastify-hindsight <command> --help" lists its options.'
  ]
}

function commandHelp (name: string, command: Command): string[] {
  const { args, summary, details, options = {} } = command
  const criteria = optionLines(criteriaOptions(command))
  return [
    `Usage: fastify-hindsight ${`${name} ${args}`.trim()} [options]`,
    '',
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.${details === undefined ? '' : ` ${details}`}`,
    '',
    ...optionLines({ ...options, ...COMMON }),
    ...criteria.length === 0 ? [] : ['', 'Criteria, all of which must match:', ...criteria]
  ]
}

function optionLines (options: Readonly<Record<string, CommandOption>>): string[] {
  return Object.entries(options).map(([name, { help }]) => `  --${name.padEnd(14)} ${help}`)
}

/** Opens the store as the service does. A store that does not exist is only created when `mayCreate` is true. */
async function openStore (flags: Flags, mayCreate: boolean): Promise<ProfileStorage> {
  const storage = String(flags.storage || process.env.STORAGE_URL || 'sqlite')
  const dataDir = String(flags['data-dir'] || process.env.DATA_DIR || DEFAULT_DATA_DIR)
  const path = join(dataDir, STORE_FILE)
  if (storage === 'memory') {
    const advice = 'the memory of another process cannot be read; use sqlite or postgres://…'
    throw new CommandError(`--storage (STORAGE_URL): ${advice}.`, 2)
  }
  if (storage === 'sqlite' && findLibrary() === undefined) {
    throw new CommandError(`The store cannot be opened: ${NO_SQLITE}.`)
  }
  if (storage === 'sqlite' && !mayCreate && !existsSync(path)) {
    const advice = 'run the command in the folder where the application was started, or set --data-dir (DATA_DIR)'
    throw new CommandError(`There is no store at ${path}: ${advice}.`)
  }
  return await openStorage({ storage, dataDir, warn: (message) => process.stderr.write(`${message}\n`) })
}
