import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DEFAULT_DATA_DIR, NO_SQLITE, openStorage, STORE_FILE } from '../lib/profiler/storage/open.js'
import { findLibrary } from '../lib/profiler/storage/sqlite/database.js'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
import { visibleLine } from '../lib/view/visible.js'
import { CommandError, criteriaOptions, type Command, type CommandOption, type Flags } from './command.js'
import { COMMANDS } from './commands.js'
import { Terminal, type Output } from './terminal.js'

const COMMON: Readonly<Record<string, CommandOption>> = {
  json: { type: 'boolean', help: 'for programs' },
  storage: { type: 'string', help: 'sqlite, or postgres://… (STORAGE_URL)' },
  'data-dir': { type: 'string', help: 'the folder of the SQLite file (DATA_DIR)' },
  help: { type: 'boolean', short: 'h', help: 'this page' }
}

/** Runs the command line in its own process. */
export async function run (args: readonly string[]): Promise<void> {
  // A reader such as `head` closes the pipe when it has enough.
  process.stdout.once('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  process.exitCode = await execute(args, process.stdout, process.stderr)
  if (COMMANDS.find(({ name }) => name === args[0])?.exits !== true) return
  for (const stream of [process.stdout, process.stderr]) await new Promise((resolve) => { stream.write('', resolve) })
  process.exit()
}

/** Runs a command and returns its exit code: 0, 1 for a failure, 2 for an invalid command line. */
export async function execute (args: readonly string[], out: Output, err: NodeJS.WritableStream): Promise<number> {
  try {
    await dispatch(args, new Terminal(out))
    return 0
  } catch (error) {
    err.write(`fastify-hindsight: ${visibleLine(error instanceof Error ? error.message : String(error))}\n`)
    return error instanceof CommandError ? error.exitCode : 1
  }
}

async function dispatch ([name, ...rest]: readonly string[], terminal: Terminal): Promise<void> {
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') return await terminal.line(help())
  const { command, flags, args } = readCommand(name, rest)
  if (flags.help === true) return await terminal.line(commandHelp(command))
  let opening: Promise<ProfileStorage> | undefined
  const open = (): Promise<ProfileStorage> => {
    opening ??= openStore(flags, command.name === 'import').catch((error: unknown) => {
      // The next request of an MCP client tries again.
      opening = undefined
      throw error
    })
    return opening
  }
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, abort)
  try {
    await command.run({ args, flags, terminal, signal: controller.signal, open })
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, abort)
    await (await opening)?.close()
  }
}

interface CommandLine {
  command: Command
  flags: Flags
  args: string[]
}

/** Parses a command line without running it. Throws a `CommandError` when it is invalid. */
export function readCommand (name: string, rest: readonly string[]): CommandLine {
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) {
    const names = COMMANDS.map((one) => one.name).join(', ')
    throw new CommandError(`There is no command "${name}"; the commands are ${names}.`, 2)
  }
  const { flags, args } = parsed(command, rest)
  const [least, greatest] = command.arity
  if (flags.help !== true && (args.length < least || args.length > greatest)) {
    const given = args.length === 0 ? 'no argument was' : `${args.length} arguments were`
    throw new CommandError(`fastify-hindsight ${command.name} ${command.args}: ${given} given.`, 2)
  }
  return { command, flags, args }
}

function parsed (command: Command, rest: readonly string[]): { flags: Flags, args: string[] } {
  const options = { ...COMMON, ...criteriaOptions(command), ...command.options }
  try {
    const { values, positionals } = parseArgs({ args: [...rest], allowPositionals: true, options })
    return { flags: values as Flags, args: positionals }
  } catch (error) {
    const [message] = (error as Error).message.split('. To specify')
    throw new CommandError(`${message}. "fastify-hindsight ${command.name} --help" lists the options.`, 2)
  }
}

function help (): string {
  return [
    'Reads the profiles that an application has stored, while it runs or after it has ended.',
    '',
    'Usage: fastify-hindsight <command> [options]',
    '',
    ...COMMANDS.map(({ name, args, summary }) => `  ${`${name} ${args}`.padEnd(24)} ${summary}`),
    '',
    '"fastify-hindsight <command> --help" lists its options.'
  ].join('\n')
}

function commandHelp (command: Command): string {
  const { name, args, summary, options = {} } = command
  const criteria = optionLines(criteriaOptions(command))
  return [
    `Usage: ${['fastify-hindsight', name, args].filter((part) => part !== '').join(' ')} [options]: ${summary}.`,
    ...Object.keys(options).length === 0 ? [] : ['', ...optionLines(options)],
    ...criteria.length === 0 ? [] : ['', 'Criteria, all of which must match:', ...criteria],
    '',
    ...optionLines(COMMON)
  ].join('\n')
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
    const advice = 'run the command where the service was started, or name its folder with --data-dir (DATA_DIR)'
    throw new CommandError(`There is no store at ${path}: ${advice}.`)
  }
  try {
    return await openStorage({ storage, dataDir, warn: (message) => process.stderr.write(`${message}\n`) })
  } catch (error) {
    throw new CommandError(`The store cannot be opened: ${(error as Error).message}`)
  }
}
