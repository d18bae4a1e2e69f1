import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { parse } from 'yaml'
import { shellProblems } from './shell.js'

export const ROOT = join(import.meta.dirname, '../../../..')
/** Has the packages that only slow tests need. */
const SLOW_PACKAGES = join(ROOT, 'packages/hindsight/test/packages/snippet.ts')

/** A fenced piece of a page of the docs. */
export interface Snippet {
  /** `docs/how-to/proxy.md:12`, where its code begins. */
  place: string
  /** The language after the fence, such as `ts`; empty where there is none. */
  language: string
  code: string
  /** The text of the comment before it: `<!-- run -->` is `run`; empty where there is none. */
  mark: string
}

/** The fenced pieces of a page, by its path from the root. */
export function snippetsOf (page: string): Snippet[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [
    ...text.matchAll(/(?:^ *<!-- *(.*?) *-->\n+)?^( *)```(\w*)\n([^]*?)^\2```$/gm)
  ].map(({ 1: mark = '', 2: indent = '', 3: language = '', 4: code = '', index }) => {
    const fence = text.indexOf('```', index)
    return { place: `${page}:${text.slice(0, fence).split('\n').length + 1}`, language, code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''), mark }
  })
}

// JavaScript has no words for types: what is wrong there is a name, a module, an export or an option that does not exist.
const NAMES_UNKNOWN = new Set([2304, 2305, 2307, 2353, 2552, 2561, 2724])

/**
 * What the compiler finds wrong with pieces of TypeScript and JavaScript, each a module of its own that imports the package by its name; `ahead` declares
 * what they leave out.
 */
export function compiled (snippets: readonly Snippet[], ahead = ''): string[] {
  if (snippets.length === 0) return []
  const pieces = new Map(snippets.map((snippet, i) => [join(ROOT, `snippet-${i}.${snippet.language === 'ts' ? 'ts' : 'js'}`), snippet]))
  const files = new Map([...[...pieces].map(([file, { code }]) => [file, `${code}\nexport {}\n`] as const), [join(ROOT, 'snippet-ahead.d.ts'), ahead]])
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile) as { config: { compilerOptions: object } }
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, allowJs: true, checkJs: true, sourceMap: false }, ROOT)
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (file) => files.has(file) || fileExists(file)
  host.readFile = (file) => files.get(file) ?? readFile(file)
  host.getSourceFile = (file, version, ...more) =>
    files.has(file) ? ts.createSourceFile(file, files.get(file) as string, version) : getSourceFile(file, version, ...more)
  const cache = ts.createModuleResolutionCache(ROOT, (file) => file, options)
  host.resolveModuleNameLiterals = (literals, containing, redirected, settings, source) => literals.map((literal) => {
    const mode = ts.getModeForUsageLocation(source, literal, settings)
    const resolve = (from: string): ts.ResolvedModuleWithFailedLookupLocations =>
      ts.resolveModuleName(literal.text, from, settings, host, cache, redirected, mode)
    const found = resolve(containing)
    return found.resolvedModule === undefined && !containing.includes('node_modules') ? resolve(SLOW_PACKAGES) : found
  })
  const program = ts.createProgram([...files.keys()], options, host)
  return [...pieces].flatMap(([file, { place, language }]) => {
    const source = program.getSourceFile(file)
    if (source === undefined) return [`${place}: not read`]
    const meanings = program.getSemanticDiagnostics(source).filter(({ code }) => language === 'ts' || NAMES_UNKNOWN.has(code))
    return [...program.getSyntacticDiagnostics(source), ...meanings].map(({ messageText }) => `${place}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
  })
}

let count = 0

/**
 * Runs a piece of JavaScript or TypeScript from a file in `folder` (within the project, for the package to be found by
 * its name), at any free port in place of 3000; returns what it exports.
 */
export async function runSnippet ({ code, language }: Snippet, folder: string): Promise<Record<string, unknown>> {
  const file = join(folder, `snippet-${++count}.${language === 'ts' ? 'ts' : 'js'}`)
  // What is written for the folder of the service.
  const placed = code.replaceAll(/'\.\/(?=(?:app|lib)\/)/g, `'${ROOT}/`)
  writeFileSync(file, placed.replaceAll('port: 3000', 'port: 0'))
  return await import(pathToFileURL(file).href) as Record<string, unknown>
}

/** What is wrong with a page without running anything: each piece by its language; those of other languages are passed over. */
export function pageProblems (page: string, ahead = ''): string[] {
  const code = snippetsOf(page).filter(({ language }) => language === 'ts' || language === 'js')
  return [...compiled(code, ahead), ...pieceProblems(page)]
}

/** The same without what is TypeScript or JavaScript. */
export function pieceProblems (page: string): string[] {
  return snippetsOf(page).flatMap((snippet) => {
    switch (snippet.language) {
      case 'sh': return shellProblems(snippet)
      case 'json': return dataProblems(snippet, JSON.parse)
      case 'yaml': return dataProblems(snippet, parse)
      default: return []
    }
  })
}

/** The languages of pieces that are looked at. */
export const CHECKED = new Set(['ts', 'js', 'sh', 'json', 'yaml'])

function dataProblems ({ place, code }: Snippet, read: (text: string) => unknown): string[] {
  try {
    read(code)
    return []
  } catch (error) {
    return [`${place}: ${(error as Error).message}`]
  }
}
