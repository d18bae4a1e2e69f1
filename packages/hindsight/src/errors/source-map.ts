import { readFileSync, realpathSync } from 'node:fs'
import { findSourceMap, SourceMap, type SourceMapping, type SourceMapPayload } from 'node:module'
import { isAbsolute } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import jsTokens from 'js-tokens'
import { attemptCall } from '../call.js'
import { excerptAt } from './source-file.js'

/** A place in a source file; `line` and `column` are 1-based, and 0 where they are unknown. */
export interface Place { file: string, line: number, column: number }

/** A 0-based position in a compiled file. */
export interface Position { line: number, column: number }

const MAX_NAME = 2_000
const MAX_FILES = 1_000
/** Characters of compiled code, before and after a position, of which the names are read. */
const MAX_CODE = 5_000
/** Characters before a function in which its name is. */
const NAME_BEFORE = 50
const IDENTIFIER = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy
const IN_PACKAGE = /[\\/]node_modules[\\/]/
/** The last line of a compiled file, with a source map or its file. */
const COMMENT = /\n\/\/[#@] sourceMappingURL=(\S+)\s*$/

/** The maps of files that Node.js has none of; null without one. */
const readMaps = new Map<string, SourceMap | null>()

/**
 * The source of a 0-based position in a compiled file, by the source map that Node.js has, or else by that of the
 * file's comment; null without one.
 */
export function originalPlace (url: string, line: number, column: number): Place | null {
  const entry = mapOf(url)?.findEntry(line, Math.max(0, column))
  return entry === undefined ? null : placeOfEntry(entry)
}

function mapOf (url: string): SourceMap | undefined {
  return attemptCall(() => findSourceMap(url) ?? mapInComment(toPath(url))) ?? undefined
}

function placeOfEntry ({ originalSource, originalLine = 0, originalColumn = 0 }: Partial<SourceMapping>): Place | null {
  if (originalSource === undefined || !URL.canParse(originalSource)) return null
  const { href } = new URL(originalSource)
  return { file: toPath(href), line: originalLine + 1, column: originalColumn + 1 }
}

/** Keeps the source map of a script that a loader has compiled: neither Node.js nor a file has it. */
export function keepScriptMap (url: string, comment: string): void {
  const file = toPath(url)
  if (!readMaps.get(file)) readMaps.set(file, parseMap(comment, file))
}

/** A function of a compiled file, from `start` to `end`, at a position in it. */
export interface CompiledCall extends Position { url: string, function: string, range: readonly [Position, Position] }

/**
 * The names that the source has for identifiers of a function, by those of the compiled code; its name is among them.
 * An identifier in the lines `first` to `last` of the source comes before others of the same name. One of which the map
 * is not certain has no name.
 */
export function sourceNames (call: CompiledCall, [first, last]: readonly [number, number]): Map<string, string> {
  const map = mapOf(call.url)
  const code = readFileSync(toPath(call.url), 'utf8')
  const [start, end, at] = [...call.range, call].map((position) => offsetOf(code, position)) as [number, number, number]
  const all = new Map<string, string>()
  const near = new Map<string, string>()
  const called = identifiersIn(code, start - NAME_BEFORE, start).filter(({ name }) => name === call.function).slice(-1)
  const used = identifiersIn(code, Math.max(start, at - MAX_CODE), Math.min(end, at + MAX_CODE))
  for (const { name, line, column } of [...called, ...used]) {
    const entry = map?.findEntry(line, column) as Partial<SourceMapping> & { name?: string } | undefined
    if (entry?.generatedLine !== line || entry.generatedColumn !== column) continue
    const place = placeOfEntry(entry)
    if (place === null) continue
    const original = entry.name ?? identifierAt(place, name)
    addName(all, name, original)
    if (place.line >= first && place.line <= last) addName(near, name, original)
  }
  return new Map([...all, ...near].filter(([, original]) => original !== ''))
}

/** Adds a name; one with two of them has none. */
function addName (names: Map<string, string>, name: string, original: string): void {
  const known = names.get(name)
  names.set(name, known === undefined || known === original ? original : '')
}

function offsetOf (code: string, { line, column }: Position): number {
  let offset = 0
  for (let i = 0; i < line; i++) offset = code.indexOf('\n', offset) + 1
  return offset + column
}

function identifiersIn (code: string, begin: number, to: number): Array<Position & { name: string }> {
  const found: Array<Position & { name: string }> = []
  const from = Math.max(0, begin)
  const lines = code.slice(0, from).split('\n')
  let line = lines.length - 1
  let column = lines[line]?.length ?? 0
  let before = ''
  for (const { type, value } of jsTokens(code.slice(from, to))) {
    if (type === 'IdentifierName' && before !== '.' && before !== '?.') found.push({ name: value, line, column })
    if (type !== 'WhiteSpace') before = value
    const parts = value.split('\n')
    line += parts.length - 1
    column = (parts.length === 1 ? column : 0) + (parts.at(-1)?.length ?? 0)
  }
  return found
}

/** The identifier at a place of the source; empty: there is none. Without the source it is `compiled`. */
function identifierAt ({ file, line, column }: Place, compiled: string): string {
  const text = excerptAt(file, line, 0)?.lines[0]
  if (text === undefined) return compiled
  IDENTIFIER.lastIndex = column - 1
  return IDENTIFIER.exec(text)?.[0] ?? ''
}

function mapInComment (file: string): SourceMap | null {
  const known = readMaps.get(file)
  if (known !== undefined) return known
  if (readMaps.size >= MAX_FILES) readMaps.clear()
  // For one that cannot be read.
  readMaps.set(file, null)
  if (!isAbsolute(file) || IN_PACKAGE.test(file)) return null
  const map = readMap(file)
  readMaps.set(file, map)
  return map
}

function readMap (file: string): SourceMap | null {
  const [, comment] = COMMENT.exec(readFileSync(file, 'utf8')) ?? []
  return comment === undefined ? null : parseMap(comment, file)
}

/** The map that the comment of a file has or names. */
function parseMap (comment: string, file: string): SourceMap {
  let base = new URL(comment, pathToFileURL(file))
  let json: Buffer
  if (base.protocol === 'data:') {
    json = Buffer.from(comment.replace(/^.*,/, ''), 'base64')
    base = pathToFileURL(file)
  } else json = readFileSync(base)
  const map = JSON.parse(json.toString()) as SourceMapPayload
  const folder = new URL((map.sourceRoot || '.').replace(/\/?$/, '/'), base)
  return new SourceMap({ ...map, sourceRoot: '', sources: map.sources.map((source) => new URL(source, folder).href) })
}

/** The path of a `file:` URL or a file, also where it is reached by a link; any other name is returned as it is. */
export function toPath (name: string): string {
  const path = name.startsWith('file:') ? attemptCall(() => fileURLToPath(name)) ?? name : name.slice(0, MAX_NAME)
  // An option of Node.js preserves the links of a workspace.
  if (isAbsolute(path) && IN_PACKAGE.test(path)) return attemptCall(() => realpathSync.native(path)) ?? path
  return path
}
