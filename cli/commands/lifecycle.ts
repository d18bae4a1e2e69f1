import { readFile } from 'node:fs/promises'
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import { counted } from '../../lib/view/counted.js'
import { visibleLine } from '../../lib/view/visible.js'
import { CommandError, type Command } from '../command.js'
import { contractData, contractLines, selectRoutes } from '../lifecycle/contract.js'
import { closeApplication, loadApplication } from '../lifecycle/load.js'
import type { Style, Terminal } from '../terminal.js'

const DIFF_STYLES: Readonly<Record<string, Style>> = { '+': 'green', '-': 'red', '@': 'cyan' }

export const lifecycleCommand: Command = {
  name: 'lifecycle',
  args: '<file>',
  summary: 'print what each route of an application runs, in order, or compare it with a file',
  options: {
    route: { type: 'string', help: 'only one, such as "GET /articles/:id", as it is declared' },
    check: { type: 'string', help: 'compare with a file that has the output of this command: exit code 1 if not equal' }
  },
  arity: [1, 1],
  exits: true,
  run: async ({ args: [file = ''], flags, terminal }) => {
    const { route, check } = flags as { route?: string, check?: string }
    if (check !== undefined && flags.json === true) {
      throw new CommandError('--check compares the text: --json does not go with it.', 2)
    }
    if (check === '') throw new CommandError('--check: it is empty; it is the file to compare with.', 2)
    const { app, order } = await withStdoutOnStderr(() => loadApplication(file))
    try {
      const supported = app.supportedMethods
      const contract = { debug: order.debug, routes: selectRoutes(order.routes(), supported, route), supported }
      if (flags.json === true) return await terminal.json(contractData(contract), 2)
      const lines = contractLines(contract)
      if (check === undefined) return await terminal.lines(lines.map((line) => terminal.style(styleOf(line), line)))
      await compare(check, lines, commandOf(file, route, check), terminal)
      const routes = counted(contract.routes.length, 'route')
      await terminal.line(`The order of ${routes} is the same as in ${visibleLine(check)}.`)
    } finally {
      await withStdoutOnStderr(() => closeApplication(app))
    }
  }
}

function styleOf (line: string): Style {
  return line.startsWith('    ') ? 'reset' : line.startsWith('  ') ? 'dim' : 'bold'
}

/** Prints the differences from the file, and throws a `CommandError` with the command that writes it. */
async function compare (file: string, lines: readonly string[], command: string, terminal: Terminal): Promise<void> {
  const stored = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(error.code === 'ENOENT'
      ? `${file} does not exist. This writes it: ${command}`
      : `${file} cannot be read: ${error.message}`)
  })
  // Git may have changed the line ends.
  const before = `${stored.replaceAll('\r\n', '\n').trimEnd()}\n`
  const now = `${lines.join('\n')}\n`
  if (before === now) return
  const options = { headerOptions: FILE_HEADERS_ONLY }
  const patch = createTwoFilesPatch(visibleLine(file), 'as it runs now', before, now, undefined, undefined, options)
  for (const line of patch.trimEnd().split('\n')) {
    await terminal.line(terminal.style(DIFF_STYLES[line.charAt(0)] ?? 'reset', line))
  }
  throw new CommandError(`The order is not the same as in ${file}. If that is intended, write it again: ${command}`)
}

function commandOf (file: string, route: string | undefined, check: string): string {
  const options = route === undefined ? [] : ['--route', quoted(route)]
  return ['npx fastify-hindsight lifecycle', quoted(file), ...options, '>', quoted(check)].join(' ')
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
