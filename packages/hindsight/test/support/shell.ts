import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS, readArguments } from '../../src/cli/run.js'
import { environmentNames } from './environment-names.js'

const ROOT = join(import.meta.dirname, '../../../..')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
const OF_NPM = new Set(['ci', 'init', 'install', 'pack', 'pkg'])

const commands = new Map(await Promise.all(Object.entries(COMMANDS).map(async ([name, { load }]) => [name, await load()] as const)))

/** What is wrong with a piece for the shell, without running it: its grammar, and names and flags that the project does not have. */
export function shellProblems ({ place, code }: { place: string, code: string }): string[] {
  const problems: string[] = []
  try {
    execFileSync('bash', ['-n'], { input: code, stdio: ['pipe', 'pipe', 'pipe'] })
  } catch (error) {
    problems.push(`the shell does not read it: ${String((error as { stderr?: Buffer }).stderr)}`)
  }
  for (const words of commandsOf(code)) problems.push(...commandProblems(words))
  return problems.map((problem) => `${place}: ${problem}`)
}

/** What is wrong with the commands that the text of a page names within its lines, such as `fastify-hindsight list --json`. */
export function namedCommandProblems (page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^ *```\w*\n[^]*?^ *```$/gm, '')
  return [...text.matchAll(/`((?:npx )?fastify-hindsight [a-z][^`]*|npm (?:run |start|test)[^`]*)`/g)].flatMap(([, command = '']) => {
    // `<token>`, `FILE` and `…` stand for what the reader has.
    const problems = commandProblems(wordsOf(command.replaceAll(/<[^>]*>/g, 'x')))
    // A command may be named without what it needs.
    return problems.filter((problem) => !/ given: \d+\.$|argument missing/.test(problem)).map((problem) => `${page}: ${problem}`)
  })
}

/** The commands of a piece, each as its words, without what is redirected. */
function commandsOf (code: string): string[][] {
  const lines = code.replaceAll(/\\\n/g, ' ').split('\n')
  return lines.flatMap((line) => {
    const commands: string[][] = [[]]
    for (const word of wordsOf(line)) {
      if (word.startsWith('#')) break
      if (['|', '||', '&&', ';', '&'].includes(word)) commands.push([])
      else commands.at(-1)?.push(word)
    }
    return commands.filter((words) => words.length > 0)
  })
}

/** A line as the words of its commands, without what is redirected. */
export function wordsOf (line: string): string[] {
  return [...line.replaceAll(/('[^']*'|"[^"]*")|\d?>>? *\S+/g, '$1').matchAll(/&&|\|\|?|[;&]|(?:'[^']*'|"[^"]*"|[^\s'";|&])+/g)].map(
    ([word]) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2')
  )
}

function commandProblems (words: readonly string[]): string[] {
  const start = words.findIndex((word) => word !== 'export' && !/^[A-Za-z_]\w*=/.test(word))
  const variables = (start === -1 ? words : words.slice(0, start)).filter((word) => word !== 'export').map((word) => word.split('=', 1)[0] ?? '')
  const problems = variables.filter((name) => !environmentNames.includes(name)).map((name) => `there is no variable "${name}"`)
  const [program, ...rest] = start === -1 ? [] : words.slice(start)
  if (program === 'npm') problems.push(...npmProblems(rest))
  else if (program === 'fastify-hindsight') problems.push(...hindsightProblems(rest))
  else if (program === 'npx') problems.push(...rest[0] === 'fastify-hindsight' ? hindsightProblems(rest.slice(1)) : programProblems(rest))
  return problems
}

/** What starts an application: its options, then a file, a script of package.json, or a program. */
const STARTED = /^(?:--open|--watch|[\w./-]+\.[cm]?[jt]s|start|dev|fastify|nest)$/

function hindsightProblems ([name = '', ...rest]: readonly string[]): string[] {
  if (STARTED.test(name)) return []
  try {
    const command = commands.get(name)
    if (command === undefined) return [`there is no command "${name}"`]
    readArguments(name, command, rest)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}

function programProblems ([name = '', ...args]: readonly string[]): string[] {
  return [
    ...existsSync(join(ROOT, 'node_modules/.bin', name)) ? [] : [`there is no program "${name}"`],
    ...args.filter((arg) => /^[\w.-]+\/[\w./-]+\.\w+$/.test(arg) && !existsSync(join(ROOT, arg))).map((arg) => `there is no file "${arg}"`)
  ]
}

function npmProblems ([verb = '', ...args]: readonly string[]): string[] {
  if (OF_NPM.has(verb)) return []
  const [name = '', ...rest] = verb === 'run' ? args : [verb, ...args]
  const script = scripts[name]
  if (script === undefined) return [`there is no script "${name}"`]
  const file = script.split(' ').find((word) => /^[\w./-]+\.ts$/.test(word))
  if (file === undefined) return []
  const source = readFileSync(join(ROOT, file), 'utf8')
  return rest.flatMap((word) => /^--([\w-]+)/.exec(word)?.[1] ?? []).filter((flag) => !new RegExp(`['"]?${flag}['"]?: \\{ type:`).test(source)).map(
    (flag) => `"npm run ${name}" has no flag "--${flag}"`
  )
}
