import { readFileSync, realpathSync } from 'node:fs'
import { findSourceMap, SourceMap, type SourceMapPayload } from 'node:module'
import { isAbsolute } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { attemptCall } from '../call.js'

/** A place in a source file; `line` and `column` are 1-based, and 0 where they are unknown. */
export interface Place { file: string, line: number, column: number }

const MAX_NAME = 2_000
const MAX_FILES = 1_000
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
  const map = attemptCall(() => findSourceMap(url) ?? mapInComment(toPath(url)))
  const entry = map?.findEntry(line, Math.max(0, column))
  if (entry === undefined || !('originalSource' in entry) || !URL.canParse(entry.originalSource)) return null
  const { href } = new URL(entry.originalSource)
  return { file: toPath(href), line: entry.originalLine + 1, column: entry.originalColumn + 1 }
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
  if (comment === undefined) return null
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
