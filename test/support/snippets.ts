import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { COMMANDS } from '../../app/cli/commands.js'
import { environmentNames } from '../../app/environment.js'

export const ROOT = join(import.meta.dirname, '../..')

/** A fenced piece of a page of the docs. */
export interface Snippet {
  /** `docs/recipes.md:12`, where its code begins. */
  place: string
  /** What stands behind the fence, such as `ts`. */
  language: string
  code: string
  /** What the comment ahead of it says: `<!-- run -->` is `run`; empty where there is none. */
  mark: string
}

/** The fenced pieces of a page, by its path from the root. */
export function snippetsOf (page: string): Snippet[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/(?:^<!-- *(.*?) *-->\n+)?^```(\w+)\n([^]*?)^```$/gm)].map(({ 1: mark = '', 2: language = '', 3: code = '', index }) => {
    const fence = text.indexOf('```', index)
    return { place: `${page}:${text.slice(0, fence).split('\n').length + 1}`, language, code, mark }
  })
}

// JavaScript has no words for types: what is wrong there is a name, a module, an export or an option that nobody knows.
const NAMES_UNKNOWN = new Set([2304, 2305, 2307, 2353, 2552, 2561, 2724])

/** What the compiler finds wrong with pieces of TypeScript and JavaScript, each a module of its own that imports the package by its name; `ahead` declares what they leave out. */
export function compiled (snippets: readonly Snippet[], ahead = ''): string[] {
  if (snippets.length === 0) return []
  const pieces = new Map(snippets.map((snippet, i) => [join(ROOT, 'docs', `snippet-${i}.${snippet.language === 'ts' ? 'ts' : 'js'}`), snippet]))
  const files = new Map([...[...pieces].map(([file, { code }]) => [file, `${code}\nexport {}\n`] as const), [join(ROOT, 'docs/snippet-ahead.d.ts'), ahead]])
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile) as { config: { compilerOptions: object } }
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, allowJs: true, checkJs: true, sourceMap: false }, ROOT)
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (file) => files.has(file) || fileExists(file)
  host.readFile = (file) => files.get(file) ?? readFile(file)
  host.getSourceFile = (file, version, ...more) => files.has(file) ? ts.createSourceFile(file, files.get(file) as string, version) : getSourceFile(file, version, ...more)
  const program = ts.createProgram([...files.keys()], options, host)
  return [...pieces].flatMap(([file, { place, language }]) => {
    const source = program.getSourceFile(file)
    if (source === undefined) return [`${place}: not read`]
    const meanings = program.getSemanticDiagnostics(source).filter(({ code }) => language === 'ts' || NAMES_UNKNOWN.has(code))
    return [...program.getSyntacticDiagnostics(source), ...meanings].map(({ messageText }) => `${place}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
  })
}

let count = 0

/** Runs a piece of JavaScript or TypeScript as it stands, from a file in `folder` (within the project, for the package to be found by its name); what it exports. */
export async function runSnippet ({ code, language }: Snippet, folder: string): Promise<Record<string, unknown>> {
  const file = join(folder, `snippet-${++count}.${language === 'ts' ? 'ts' : 'js'}`)
  writeFileSync(file, code)
  return await import(pathToFileURL(file).href) as Record<string, unknown>
}

/** What is wrong with a piece for the shell, without running it: its grammar, and names that the project does not know. */
export function shellProblems ({ place, code }: Snippet): string[] {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const problems: string[] = []
  try {
    execFileSync('bash', ['-n'], { input: code, stdio: ['pipe', 'pipe', 'pipe'] })
  } catch (error) {
    problems.push(`the shell does not read it: ${String((error as { stderr?: Buffer }).stderr)}`)
  }
  for (const [, name = ''] of code.matchAll(/\bhindsight ([a-z]+)/g)) if (!COMMANDS.some((command) => command.name === name)) problems.push(`there is no command "${name}"`)
  for (const [, name = ''] of code.matchAll(/\bnpm run ([\w:-]+)/g)) if (scripts[name] === undefined) problems.push(`there is no script "${name}"`)
  for (const [, name = ''] of code.matchAll(/^(?:export +)?((?:[A-Z][A-Z_]+=(?:'[^']*'|"[^"]*"|\S*) +)*[A-Z][A-Z_]+)=/gm)) {
    for (const variable of name.split(/=(?:'[^']*'|"[^"]*"|\S*) +/)) if (!environmentNames.includes(variable)) problems.push(`there is no variable "${variable}"`)
  }
  return problems.map((problem) => `${place}: ${problem}`)
}

/** What is wrong with a page without running anything: each piece by its language; those of other languages are passed over. */
export function pageProblems (page: string, ahead = ''): string[] {
  const snippets = snippetsOf(page).filter(({ mark }) => !mark.startsWith('unchecked'))
  const code = snippets.filter(({ language }) => language === 'ts' || language === 'js')
  return [
    ...compiled(code, ahead),
    ...snippets.filter(({ language }) => language === 'sh').flatMap(shellProblems),
    ...snippets.filter(({ language }) => language === 'json').flatMap(jsonProblems)
  ]
}

function jsonProblems ({ place, code }: Snippet): string[] {
  try {
    JSON.parse(code)
    return []
  } catch (error) {
    return [`${place}: ${(error as Error).message}`]
  }
}
