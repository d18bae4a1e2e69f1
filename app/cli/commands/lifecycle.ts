import { readFile } from 'node:fs/promises'
import { visibleLine } from '../../../plugins/view/visible.js'
import { CommandError, type Command } from '../command.js'
import type { Contract } from '../lifecycle/lines.js'
import type { Terminal } from '../terminal.js'
import { counted } from '../../../plugins/view/counted.js'

/** Tells what each route of an application runs, in order, and whether that has changed. */
export const lifecycleCommand: Command = {
  name: 'lifecycle',
  args: '<file>',
  what: 'tell what each route of an application runs, in order',
  flags: { route: { type: 'string' }, check: { type: 'string' } },
  help: { route: 'only one, such as "GET /articles/:id", as it is declared', check: 'compare with a file that this command has written: exit code 1 where the order has changed' },
  arity: [1, 1],
  ends: true,
  async run ({ args: [file = ''], flags, terminal }) {
    const { route, check } = flags as { route?: string, check?: string }
    if (check !== undefined && flags.json === true) throw new CommandError('--check compares the text: --json does not go with it.', 2)
    if (check === '') throw new CommandError('--check: it is empty; it is the file to compare with.', 2)
    const { closed, loadApplication } = await import('../lifecycle/load.js')
    const { contractData, contractLines, wantedRoutes } = await import('../lifecycle/lines.js')
    const { declaredPlace } = await import('../../../plugins/diagnostics/declared-place.js')
    const { app, order } = await quietly(() => loadApplication(file))
    try {
      const contract = { debug: order.debug, routes: wantedRoutes(order.routes(), app.supportedMethods, route), supported: app.supportedMethods }
      if (flags.json === true) return await terminal.json(contractData(contract, declaredPlace), 2)
      const lines = contractLines(contract, declaredPlace)
      if (check !== undefined) return await compare(check, lines, contract, commandOf(file, route), terminal)
      for (const line of lines) await terminal.line(terminal.style(/^ {4}/.test(line) ? 'reset' : /^ {2}/.test(line) ? 'dim' : 'bold', line))
    } finally {
      await quietly(() => closed(app))
    }
  }
}

async function compare (check: string, lines: readonly string[], { routes }: Contract, base: string, terminal: Terminal): Promise<void> {
  const command = `${base} > ${quoted(check)}`
  const kept = await readFile(check, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(error.code === 'ENOENT' ? `${check} is not there. This writes it: ${command}` : `${check} cannot be read: ${error.message}`)
  })
  const { changedLines } = await import('../lifecycle/check.js')
  const changed = changedLines(visibleLine(check), kept, lines)
  if (changed.length === 0) return await terminal.line(`The order of ${counted(routes.length, 'route')} is as ${visibleLine(check)} has it.`)
  for (const line of changed) await terminal.line(terminal.style(line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : line.startsWith('@') ? 'cyan' : 'reset', line))
  throw new CommandError(`The order is not what ${check} says. Where that is meant, write it anew: ${command}`)
}

function commandOf (file: string, route: string | undefined): string {
  return ['npx hindsight lifecycle', quoted(file), ...route === undefined ? [] : ['--route', quoted(route)]].join(' ')
}

function quoted (word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

// What the application prints is none of the order, which may be on its way to a file.
async function quietly<T> (work: () => Promise<T>): Promise<T> {
  const { stdout, stderr } = process
  const { write } = stdout
  stdout.write = stderr.write.bind(stderr) as typeof write
  try {
    return await work()
  } finally {
    stdout.write = write
  }
}
