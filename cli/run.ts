import { parseArgs } from 'node:util'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
import { visibleLine } from '../lib/view/visible.js'
import { CommandError, type Command, type Flags } from './command.js'
import { CRITERIA_FLAGS } from './criteria.js'
import { COMMANDS } from './commands.js'
import { commandHelp, help } from './help.js'
import { openStore } from './store.js'
import { Terminal, type Output } from './terminal.js'

const COMMON = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' }, storage: { type: 'string' }, 'data-dir': { type: 'string' } } as const

/** Runs the command line in a process of its own. */
export async function run (args: readonly string[]): Promise<void> {
  // Who reads only the first lines, as `head` does, has what he wanted.
  process.stdout.once('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  process.exitCode = await execute(args, process.stdout, process.stderr)
  if (COMMANDS.find(({ name }) => name === args[0])?.ends !== true) return
  for (const stream of [process.stdout, process.stderr]) await new Promise((resolve) => { stream.write('', resolve) })
  process.exit()
}

/** Runs a command; the exit code: 0, 1 where something is not there or cannot be done, 2 where the command means nothing. */
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
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') return await terminal.line(help(COMMANDS))
  const { command, flags, args } = readCommand(name, rest)
  if (flags.help === true) return await terminal.line(commandHelp(command))
  let store: ProfileStorage | undefined
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, abort)
  try {
    await command.run({ args, flags, terminal, signal: stop.signal, open: async () => (store ??= await openStore(flags, command.name === 'import')) })
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, abort)
    await store?.close()
  }
}

/** What a line means, without doing it; throws where it means nothing. */
export function readCommand (name: string, rest: readonly string[]): { command: Command, flags: Flags, args: string[] } {
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) throw new CommandError(`There is no command "${name}"; known are ${COMMANDS.map((one) => one.name).join(', ')}.`, 2)
  const { flags, args } = parsed(command, rest)
  const [least, most] = command.arity
  if (flags.help !== true && (args.length < least || args.length > most)) {
    throw new CommandError(`fastify-hindsight ${command.name} ${command.args}: ${args.length === 0 ? 'nothing was' : `${args.length} arguments were`} given.`, 2)
  }
  return { command, flags, args }
}

function parsed (command: Command, rest: readonly string[]): { flags: Flags, args: string[] } {
  try {
    const { values, positionals } = parseArgs({
      args: [...rest],
      allowPositionals: true,
      options: { ...COMMON, ...(command.criteria === true && CRITERIA_FLAGS), ...command.flags }
    })
    return { flags: values as Flags, args: positionals }
  } catch (error) {
    throw new CommandError(`${(error as Error).message.split('. To specify')[0]}. "fastify-hindsight ${command.name} --help" lists the flags.`, 2)
  }
}
