import { readFile } from 'node:fs/promises'
import { counted } from '../../lib/view/counted.js'
import { visibleLine } from '../../lib/view/visible.js'
import { CommandError, type Command } from '../command.js'
import type { Contract } from '../lifecycle/lines.js'
import type { Terminal } from '../terminal.js'

/** Prints what each route of an application runs, in order, or compares it with a file. */
export const lifecycleCommand: Command = {
  name: 'lifecycle',
  args: '<file>',
  what: 'tell what each route of an application runs, in order',
  flags: { route: { type: 'string' }, check: { type: 'string' } },
  help: {
    route: 'only one, such as "GET /articles/:id", as it is declared',
    check: 'compare with a file that this command has written: exit code 1 where the order has changed'
  },
  arity: [1, 1],
  ends: true,
  async run ({ args: [file = ''], flags, terminal }) {
    const { route, check } = flags as { route?: string, check?: string }
    if (check !== undefined && flags.json === true) {
      throw new CommandError('--check compares the text: --json does not go with it.', 2)
    }
    if (check === '') throw new CommandError('--check: it is empty; it is the file to compare with.', 2)
    const { closeApplication, loadApplication } = await import('../lifecycle/load.js')
    const { contractData, contractLines, wantedRoutes } = await import('../lifecycle/lines.js')
    const { app, order } = await withStdoutOnStderr(() => loadApplication(file))
    try {
      const supported = app.supportedMethods
      const contract = { debug: order.debug, routes: wantedRoutes(order.routes(), supported, route), supported }
      if (flags.json === true) return await terminal.json(contractData(contract), 2)
      const lines = contractLines(contract)
      if (check !== undefined) return await compare(check, lines, contract, commandOf(file, route), terminal)
      for (const line of lines) await terminal.line(terminal.style(styleOf(line), line))
    } finally {
      await withStdoutOnStderr(() => closeApplication(app))
    }
  }
}

function styleOf (line: string): 'reset' | 'dim' | 'bold' {
  return line.startsWith('    ') ? 'reset' : line.startsWith('  ') ? 'dim' : 'bold'
}

async function compare (
  check: string, lines: readonly string[], { routes }: Contract, base: string, terminal: Terminal
): Promise<void> {
  const command = `${base} > ${quoted(check)}`
  const kept = await readFile(check, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(error.code === 'ENOENT'
      ? `${check} is not there. This writes it: ${command}`
      : `${check} cannot be read: ${error.message}`)
  })
  const { changedLines } = await import('../lifecycle/check.js')
  const changed = changedLines(visibleLine(check), kept, lines)
  if (changed.length === 0) {
    return await terminal.line(`The order of ${counted(routes.length, 'route')} is as ${visibleLine(check)} has it.`)
  }
  for (const line of changed) await terminal.line(terminal.style(colorOf(line), line))
  throw new CommandError(`The order is not what ${check} says. Where that is meant, write it anew: ${command}`)
}

function colorOf (line: string): 'green' | 'red' | 'cyan' | 'reset' {
  return line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : line.startsWith('@') ? 'cyan' : 'reset'
}

function commandOf (file: string, route: string | undefined): string {
  const options = route === undefined ? [] : ['--route', quoted(route)]
  return ['npx fastify-hindsight lifecycle', quoted(file), ...options].join(' ')
}

function quoted (word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

// The output of the command may be redirected to a file: what the application prints must not be part of it.
async function withStdoutOnStderr<T> (work: () => Promise<T>): Promise<T> {
  const { stdout, stderr } = process
  const { write } = stdout
  stdout.write = stderr.write.bind(stderr) as typeof write
  try {
    return await work()
  } finally {
    stdout.write = write
  }
}
