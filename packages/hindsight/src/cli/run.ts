import { parseArgs } from 'node:util'
import { packageVersion } from '../require.js'
import { hintFor } from '../similar-name.js'
import type { ProfileStorage } from '../store/storage.js'
import { visibleLine } from '../view/text.js'
import type { Command, CommandOptions, Flags } from './command.js'
import { START, startApplication } from './start.js'
import { Terminal, type Output } from './terminal.js'

/** The commands: their lines of the help, and what loads one. Other code is not loaded. */
export const COMMANDS: Readonly<Record<string, { summary: string, load: () => Promise<Command> }>> = {
  demo: {
    summary: 'start a small application with five problems, to look around',
    load: async () => (await import('./commands/demo.js')).demo
  },
  list: {
    summary: 'list the profiles that match all criteria, newest first',
    load: async () => (await import('./commands/profiles.js')).list
  },
  tail: {
    summary: 'list matching profiles as they are stored',
    load: async () => (await import('./commands/profiles.js')).tail
  },
  waiting: {
    summary: 'list requests and jobs of the running service that have not ended',
    load: async () => (await import('./commands/waiting.js')).waiting
  },
  show: {
    summary: 'show a profile as Markdown',
    load: async () => (await import('./commands/profiles.js')).show
  },
  queries: {
    summary: 'list the queries of a request by shape, with their lines of code',
    load: async () => (await import('./commands/profiles.js')).queries
  },
  compare: {
    summary: 'compare two profiles, or one with the last success of its route',
    load: async () => (await import('./commands/compare.js')).compare
  },
  replay: {
    summary: 'replay a request on the running service, and compare both',
    load: async () => (await import('./commands/compare.js')).replay
  },
  to: {
    summary: 'write a request as curl or test',
    load: async () => (await import('./commands/compare.js')).to
  },
  purge: {
    summary: 'remove the profiles that match all criteria; pinned ones stay',
    load: async () => (await import('./commands/profiles.js')).purge
  },
  mcp: {
    summary: 'connect models to the application (Model Context Protocol)',
    load: async () => (await import('./commands/mcp.js')).mcp
  },
  skill: {
    summary: 'write instructions for a coding assistant to a file of the project',
    load: async () => (await import('./commands/skill.js')).skill
  },
  lifecycle: {
    summary: 'print the hooks of each route in order',
    load: async () => (await import('./commands/lifecycle.js')).lifecycle
  }
}

const HELP = ['help', '--help', '-h']
const VERSION = ['version', '--version', '-v']
/** All that is no name of an application. */
const NAMES = [...Object.keys(COMMANDS), ...HELP, ...VERSION]
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
  hideExperimentalWarnings()
  // A reader such as `head` closes the pipe when it has enough.
  stdout.once('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  const exitCode = await executeCommand(args, stdout, stderr)
  for (const stream of [stdout, stderr]) await new Promise((resolve) => { stream.write('', resolve) })
  // Timers of an application that `lifecycle` has loaded would keep the process running.
  process.exit(exitCode)
}

/** Node.js 22 warns of its SQLite. Other warnings are printed as before. */
function hideExperimentalWarnings (): void {
  const listeners = process.listeners('warning')
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    if (warning.name === 'ExperimentalWarning') return
    for (const listener of listeners) listener(warning)
  })
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
    const known = new Map(Object.entries(COMMANDS)).get(name)
    if (known === undefined) return await startApplication([name, ...rest], NAMES, err)
    const command = await known.load()
    const { flags, args } = readArguments(name, command, rest)
    const open = async (): Promise<ProfileStorage> => {
      const { openStore } = await import('./store.js')
      opening ??= openStore(flags)
      try {
        return await opening
      } catch (error) {
        // The next call tries again: an application may have made the store.
        opening = undefined
        throw error
      }
    }
    const print = async (data: unknown, lines: () => readonly string[]): Promise<void> =>
      await (flags.json === true ? terminal.json(data, 2) : terminal.lines(lines()))
    if (flags.help !== true) return await command.run({ args, flags, terminal, print, open }) ? FOUND : 0
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

/** Parses the arguments of a command without running it. Throws an error when they are invalid. */
export function readArguments (name: string, command: Command, rest: string[]): { flags: Flags, args: string[] } {
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
  return { flags, args }
}

function usage (name: string, { args }: Command): string {
  return `fastify-hindsight ${`${name} ${args}`.trim()} [options]`
}

function help (): string[] {
  return [
    'Starts an application with Hindsight, and reads the profiles that are stored.',
    '',
    'Usage: fastify-hindsight [--open] [--watch] <file> [arguments for the file]',
    '       fastify-hindsight <command> [options]',
    '',
    'The file may be TypeScript. Instead of a file, name a script of package.json,',
    'such as dev, or a program and its arguments, such as fastify start app.js.',
    'A command is meant before a file of the same name, which is ./list then.',
    '',
    ...optionLines(START),
    '',
    ...Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(11)} ${summary}`),
    '',
    '"fastify-hindsight <command> --help" lists its options.',
    '"fastify-hindsight --version" prints the version.'
  ]
}

function commandHelp (name: string, command: Command): string[] {
  const { summary = '' } = COMMANDS[name] ?? {}
  return [
    `Usage: ${usage(name, command)}`,
    '',
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    '',
    ...optionLines({ ...command.options, ...COMMON })
  ]
}

function optionLines (options: CommandOptions): string[] {
  return Object.entries(options).map(([option, { help }]) => `  --${option.padEnd(11)} ${help}`)
}
