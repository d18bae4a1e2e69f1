import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../errors/thrown-value.js'
import { START_FILE } from '../open-browser.js'
import { extension, modulePlace, require } from '../require.js'
import { hintFor } from '../similar-name.js'
import type { CommandOptions, Flags } from './command.js'
import type { Output } from './terminal.js'

export const START: CommandOptions = {
  open: { type: 'boolean', help: 'open the profiler in the browser' },
  watch: { type: 'boolean', help: 'restart a file when it or what it imports has changed' }
}

const TYPESCRIPT = /\.[cm]?ts$/
/** With a terminal, the first three reach the application without this process. */
const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGTERM']
/** Milliseconds between two looks at the parent process. */
const PARENT_INTERVAL = 500

/** A process to start. */
interface Launch {
  program: string
  args: readonly string[]
  env?: NodeJS.ProcessEnv
  cwd?: string
  /** The process of the application may be a child of the program. */
  isTree?: boolean
}

/**
 * Starts an application with the preload: a file, a script of `package.json`, or a program of `node_modules/.bin` with
 * its arguments. Returns its exit code; where a signal has ended it, the same one ends this process.
 */
export async function startApplication (
  args: readonly string[], commands: readonly string[], err: Output
): Promise<number> {
  const at = args.findIndex((arg) => !arg.startsWith('-'))
  const before = at === -1 ? args : args.slice(0, at)
  const flags = readFlags(before, commands)
  const name = args[at]
  if (name === undefined) throw new Error('Which file? Usage: fastify-hindsight [--open] [--watch] <file> [arguments]')
  const launch = launchOf(name, args.slice(at + 1), flags.watch === true)
  if (launch === undefined) throw new Error(notFound(name, commands))
  const isProduction = process.env.NODE_ENV === 'production'
  if (isProduction) err.write('NODE_ENV is production: there are no pages of the profiler.\n')
  const { code, signal, hasListened } = await runLaunch(launch, flags.open === true ? '.' : '')
  if (signal !== null) process.kill(process.pid, signal)
  if (code === 0 && !hasListened && !isProduction) {
    err.write(`${name} has ended, and no application of Fastify 5 or 6 has listened. ` +
      'If it exports a plugin, start it with: fastify-hindsight fastify start <file>\n')
  }
  return code
}

function readFlags (args: readonly string[], commands: readonly string[]): Flags {
  const known = Object.keys(START).map((option) => `--${option}`)
  const unknown = args.find((arg) => !known.includes(arg))
  if (unknown === undefined) return parseArgs({ args: [...args], options: START }).values as Flags
  const advice = 'Options of the application come after its file, and those of Node.js are in NODE_OPTIONS.'
  throw new Error(`Unknown option "${unknown}".${hintFor(unknown, [...known, ...commands]) || ` ${advice}`}`)
}

/** What a name starts: first a file, then a script, a program, and the main file of a folder. */
function launchOf (name: string, args: readonly string[], isWatched: boolean): Launch | undefined {
  const path = resolve(name)
  if (isFile(path)) return launchFile(path, args, isWatched)
  const others = scriptLaunch(name, args) ?? programLaunch(name, args)
  if (others !== undefined) {
    if (isWatched) throw new Error(`--watch restarts a file. "${name}" is none: use its own option, or name the file.`)
    return others
  }
  const main = resolvedFrom(path, path)
  // Node.js reads app.json for app.
  if (main === undefined || main.endsWith('.json')) return undefined
  return launchFile(main, args, isWatched)
}

/** Node.js with the preload and a file. */
export function launchFile (path: string, args: readonly string[], isWatched = false): Launch {
  const watch = isWatched ? ['--watch'] : []
  return { program: process.execPath, args: [...watch, ...loaderOf(path), ...preloadFlags(), path, ...args] }
}

/** The flag of what runs TypeScript: tsx where the application has it, and else Node.js itself. */
function loaderOf (path: string): string[] {
  if (!TYPESCRIPT.test(path)) return []
  const tsx = resolvedFrom(path, 'tsx')
  if (tsx !== undefined) return [importFlag(tsx)]
  const { typescript } = process.features as { typescript?: string | false }
  if (typescript) return []
  const advice = 'Install tsx in your application: npm install --save-dev tsx'
  throw new Error(`Node.js ${process.versions.node} does not run TypeScript such as ${path}. ${advice}`)
}

function preloadFlags (): string[] {
  // A checkout has TypeScript sources.
  const isCheckout = extension === '.ts'
  const preload = `--import=${new URL(isCheckout ? './register.ts' : './register.js', modulePlace).href}`
  return isCheckout ? [importFlag(require.resolve('tsx')), preload] : [preload]
}

/** A URL has no blanks and quotes: also NODE_OPTIONS takes any path. */
function importFlag (path: string): string {
  return `--import=${pathToFileURL(path).href}`
}

/** `name`: the variable that has the options of Node.js. */
function environmentWithPreload (name = 'NODE_OPTIONS'): NodeJS.ProcessEnv {
  const { NODE_OPTIONS = '' } = process.env
  return { ...process.env, [name]: [NODE_OPTIONS, ...preloadFlags()].join(' ').trim() }
}

/** A script of the next `package.json`, as npm, pnpm or yarn run it. */
function scriptLaunch (name: string, args: readonly string[]): Launch | undefined {
  if (!scriptNames().includes(name)) return undefined
  const { npm_execpath: manager } = process.env
  // npm takes what follows the dashes; other managers take all.
  const isNpm = manager === undefined || manager.includes('npm-cli')
  const command = ['run', name, ...isNpm && args.length > 0 ? ['--'] : [], ...args]
  // For what npm runs, not for npm itself. The preload finds another manager by its path.
  const env = environmentWithPreload(manager === undefined ? 'npm_config_node_options' : 'NODE_OPTIONS')
  const launch = { env, isTree: true }
  if (manager === undefined) return { ...launch, program: 'npm', args: command }
  if (!/\.[cm]?js$/.test(manager)) return { ...launch, program: manager, args: command }
  return { ...launch, program: process.execPath, args: [manager, ...command] }
}

function scriptNames (): string[] {
  const path = foundAbove('package.json')
  if (path === undefined) return []
  try {
    const { scripts } = JSON.parse(readFileSync(path, 'utf8')) as { scripts?: object }
    return Object.keys(scripts ?? {})
  } catch (error) {
    // The error of JSON names no file.
    throw new Error(`${path}: ${messageOf(error)}`)
  }
}

function programLaunch (name: string, args: readonly string[]): Launch | undefined {
  const program = /[\\/]/.test(name) ? undefined : foundAbove(join('node_modules/.bin', name))
  return program === undefined ? undefined : { program, args, env: environmentWithPreload(), isTree: true }
}

/** The path of a file in this folder, or in the next one above that has it. */
function foundAbove (file: string): string | undefined {
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    if (isFile(join(folder, file))) return join(folder, file)
    if (folder === dirname(folder)) return undefined
  }
}

function resolvedFrom (path: string, wanted: string): string | undefined {
  try {
    return createRequire(path).resolve(wanted)
  } catch {
    return undefined
  }
}

function isFile (path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

/** Why nothing was started, with the names that are similar. */
function notFound (name: string, commands: readonly string[]): string {
  const path = resolve(name)
  if (existsSync(path)) return `The folder "${name}" has no main file: name the file that starts the application.`
  const folder = dirname(path)
  const files = existsSync(folder) ? readdirSync(folder).map((file) => join(dirname(name), file)) : []
  const names = [...commands, ...files, ...scriptNames()]
  const stem = files.find((file) => file.startsWith(`${join(name)}.`))
  const hint = stem === undefined ? hintFor(name, names) : ` Did you mean "${stem}"?`
  const advice = ' "fastify-hindsight --help" lists the commands.'
  return `There is no command, file, script or program "${name}".${hint || advice}`
}

/**
 * Runs a process until it ends, and passes signals on. `opened`: what the browser opens, relative to the profiler.
 * `hasListened`: whether an application with the preload has.
 */
export async function runLaunch (
  { program, args, env = process.env, cwd = process.cwd(), isTree = false }: Launch, opened: string
): Promise<{ code: number, signal: NodeJS.Signals | null, hasListened: boolean }> {
  const folder = mkdtempSync(join(tmpdir(), 'fastify-hindsight-'))
  const file = join(folder, 'start')
  writeFileSync(file, opened)
  // Without a terminal, signals reach this process alone, and on Debian a shell of npm passes none on: all processes of
  // a script are a group.
  const isGroup = isTree && !process.stdin.isTTY && process.platform !== 'win32'
  const child = spawn(program, args, { cwd, env: { ...env, [START_FILE]: file }, stdio: 'inherit', detached: isGroup })
  const pass = (signal: NodeJS.Signals): void => {
    const isFromTerminal = process.stdin.isTTY && signal !== 'SIGTERM'
    if (child.pid === undefined || isFromTerminal) return
    if (isGroup) signalGroup(child.pid, signal)
    else child.kill(signal)
  }
  for (const signal of SIGNALS) process.on(signal, pass)
  const watch = watchParent(() => pass('SIGTERM'))
  let hasListened = false
  const [code, signal] = await once(child, 'exit').finally(() => {
    clearInterval(watch)
    for (const name of SIGNALS) process.off(name, pass)
    hasListened = !existsSync(file)
    rmSync(folder, { recursive: true, force: true })
  }) as [number | null, NodeJS.Signals | null]
  return { code: code ?? 1, signal, hasListened }
}

function signalGroup (pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // Its last process has just ended, and a signal handler must not throw.
  }
}

/** On Debian and Ubuntu, a signal to npx ends npx and its shell alone. */
function watchParent (onEnd: () => void): NodeJS.Timeout | undefined {
  if (process.env.npm_lifecycle_event !== 'npx') return undefined
  const { ppid } = process
  const watch = setInterval(() => {
    if (process.ppid === ppid) return
    // A second signal would end an application that is closing.
    clearInterval(watch)
    onEnd()
  }, PARENT_INTERVAL)
  return watch.unref()
}
