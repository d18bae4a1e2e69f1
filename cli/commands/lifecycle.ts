import { readFile } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import { packageOf } from '../../lib/errors/stack-frame.js'
import { counted } from '../../lib/view/counted.js'
import { visibleLine } from '../../lib/view/visible.js'
import { CommandError, type Command } from '../command.js'
import { ORDER, type RouteOrder, type Step } from '../lifecycle/hook-order.js'
import { closeApplication, loadApplication } from '../lifecycle/load.js'
import type { Style, Terminal } from '../terminal.js'

const DIFF_STYLES: Readonly<Record<string, Style>> = { '+': 'green', '-': 'red', '@': 'cyan' }

export const lifecycle: Command = {
  args: '<file>',
  summary: 'print the hooks of each route in order, or compare them with a file',
  options: {
    route: { type: 'string', help: 'only one route, as it is declared, such as "GET /articles/:id"' },
    check: { type: 'string', help: 'compare with a file of earlier output: exit code 1 if not equal' }
  },
  run: async ({ args: [file = ''], flags, terminal, print }) => {
    const { route, check } = flags as { route?: string, check?: string }
    if (check !== undefined && flags.json === true) {
      throw new CommandError('--check and --json cannot be combined.', 2)
    }
    const { app, order } = await withStdoutOnStderr(() => loadApplication(file))
    try {
      const { mode } = order
      const routes = selectRoutes(order.routes(), route)
      const lines = contractLines(mode, routes)
      if (check === undefined) {
        const data = { mode, routes: routes.map(({ isDeclared, method, ...data }) => data) }
        return await print(data, () => lines)
      }
      const options = route === undefined ? '' : ` --route ${quoted(route)}`
      const command = `npx fastify-hindsight lifecycle ${quoted(file)}${options} > ${quoted(check)}`
      await compare(check, lines, command, terminal)
      await terminal.line(`The order of ${counted(routes.length, 'route')} is the same as in ${visibleLine(check)}.`)
    } finally {
      await withStdoutOnStderr(() => closeApplication(app))
    }
  }
}

// The routes to print: all that the application declares, or those of a name such as `GET /`.
function selectRoutes (routes: readonly RouteOrder[], name?: string): RouteOrder[] {
  if (name === undefined) return routes.filter(({ isDeclared }) => isDeclared)
  const [method = '', url] = name.trim().split(/\s+/)
  const wanted = method.toUpperCase()
  const found = routes.filter((route) =>
    route.url === url && (route.methods.includes(wanted) || route.method === wanted))
  if (found.length > 0) return found
  throw new CommandError(`--route: there is no route "${name}". Without --route, all routes are printed.`)
}

/** The order of each route as text. It has no line numbers and no files of packages: it changes only with the order. */
export function contractLines (mode: string | null, routes: readonly RouteOrder[]): string[] {
  const lines = [`Lifecycle ${mode === null ? 'without fastify-hindsight' : `in ${mode} mode`}`]
  for (const { method, url, constraints, steps } of routes) {
    const suffix = constraints === undefined ? '' : ` ${JSON.stringify(constraints)}`
    lines.push('', visibleLine(`${method} ${url}${suffix}`))
    for (const hook of ORDER) {
      const ofHook = steps.filter((step) => step.hook === hook)
      if (ofHook.length > 0) lines.push(`  ${hook}`, ...ofHook.map((step) => `    ${visibleLine(stepText(step))}`))
    }
  }
  return lines
}

function stepText (step: Step): string {
  if (step.stage !== undefined) return `${step.stage} ${step.listener}`
  const { hook, name, plugin, route, source } = step
  const file = source === undefined || packageOf(source) !== null
    ? undefined
    : relative(process.cwd(), source.replace(/:\d+$/, '')).split(sep).join('/')
  const about = [route === true && hook !== 'handler' ? 'route' : undefined, plugin, file]
    .filter((part) => part !== undefined)
  return about.length === 0 ? name : `${name} (${about.join(', ')})`
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
  await terminal.lines(patch.trimEnd().split('\n').map((line) =>
    terminal.style(DIFF_STYLES[line.charAt(0)] ?? 'reset', line)))
  throw new CommandError(`The order is not the same as in ${file}. If that is intended, write the file: ${command}`)
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
