import { readFileSync, statSync } from 'node:fs'
import { findSourceMap } from 'node:module'
import { extname, isAbsolute, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseV8OrIeString, type StackFrameLite } from 'error-stack-parser-es/lite'
import { visibleLine } from '../view/visible.js'
import type { CodeExcerpt, StackFrame } from './exception.js'

// The parser's patterns take quadratic time on a long line.
const MAX_LINE_LENGTH = 2_000
const FRAME_LINE = /^\s*at /
const INTERNALS = ['app', 'cli', 'lib', 'plugins', 'routes/_profiler', 'routes/_wdt', 'routes/_error']
  .map((folder) => fileURLToPath(new URL(`../../${folder}/`, import.meta.url)))
const MAX_FILE_BYTES = 2_000_000
const MAX_SOURCE_LINE = 500
/** Lines that the excerpt of a function has after its first. */
const LINES_AFTER = 8
// A stack is text and can be forged: only source files are read.
const SOURCE = new Set([
  '.js', '.mjs', '.cjs', '.jsx', '.ts', '.mts', '.cts', '.tsx', '.vue', '.svelte', '.astro', '.civet', '.coffee'
])
const PACKAGE = /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/

/** Splits a stack into its message and its frame lines. Lines of a message may look like frames and are none. */
export function splitStack (stack: string, message: string): { head: string, frames: string } {
  const end = endOfMessage(stack, message) ?? startOfFrames(stack)
  return { head: stack.slice(0, end).trimEnd(), frames: stack.slice(end).replace(/^\n/, '').trimEnd() }
}

function endOfMessage (stack: string, message: string): number | undefined {
  const at = message === '' ? -1 : stack.indexOf(message)
  if (at === -1 || stack.slice(0, at).includes('\n')) return undefined
  return at + message.length
}

// The message was changed after the stack was captured: only the lines at the end are surely frames.
function startOfFrames (stack: string): number {
  const lines = stack.trimEnd().split('\n')
  const last = lines.findLastIndex((line) => !FRAME_LINE.test(line))
  return lines.slice(0, last + 1).reduce((length, line) => length + line.length + 1, 0)
}

/** The lines of a stack that can be frames. */
export function frameLines (frames: string): string[] {
  return frames.split('\n').filter((line) => line.length <= MAX_LINE_LENGTH && FRAME_LINE.test(line))
}

/** Parses the frame lines of a stack; `root` is the folder of the application's own code. */
export function stackFrames (frames: string, root = process.cwd()): StackFrame[] {
  try {
    return parseV8OrIeString(frameLines(frames).join('\n')).map((frame) => toFrame(frame, root))
  } catch {
    return []
  }
}

function toFrame (parsed: StackFrameLite, root: string): StackFrame {
  const { line = 0, col: column = 0, raw = '' } = parsed
  let name = parsed.function || '<anonymous>'
  // The parser drops parentheses of a path, such as those of a folder named `(admin)`.
  let url = / \((.+):\d+:\d+\)$/.exec(raw)?.[1] ?? parsed.file ?? ''
  // An awaited anonymous function has no parentheses around its place.
  if (url.startsWith('async ')) [url, name] = [url.slice(6), 'async <anonymous>']
  const file = toPath(url)
  const original = isAbsolute(file) && line > 0 ? originalPlace(url, line - 1, column - 1) : null
  // A file that is its own source was mapped by the runtime already.
  const place = original === null || original.file === file ? { file, line, column } : original
  return { ...place, function: name, own: isOwn(place.file, root) }
}

/** A place in a source file; `line` and `column` are 1-based. */
interface Place { file: string, line: number, column: number }

/** The source of a place in a compiled file, by its source map; null without one. `line` and `column` are 0-based. */
export function originalPlace (url: string, line: number, column: number): Place | null {
  try {
    const entry = findSourceMap(url)?.findEntry(line, Math.max(0, column))
    if (entry === undefined || !('originalSource' in entry) || !entry.originalSource) return null
    const file = toPath(new URL(entry.originalSource, pathToFileURL(toPath(url))).href)
    return { file, line: entry.originalLine + 1, column: entry.originalColumn + 1 }
  } catch {
    return null
  }
}

/** The path of a `file:` URL; any other name is returned as it is. */
export function toPath (file: string): string {
  if (file === '(native)') return ''
  if (!file.startsWith('file:')) return file.slice(0, MAX_LINE_LENGTH)
  try {
    return fileURLToPath(file)
  } catch {
    return file
  }
}

/** Whether a file is one of the application, in the folder `root`. */
export function isOwn (file: string, root = process.cwd()): boolean {
  if (!isAbsolute(file) || isInternal(file)) return false
  const path = relative(root, file)
  return path !== '' && !isAbsolute(path) && !path.split(sep).includes('node_modules') && !path.startsWith(`..${sep}`)
}

/** The package that a file belongs to; null for one outside `node_modules`. */
export function packageOf (file: string): string | null {
  return PACKAGE.exec(file)?.[1]?.replaceAll('\\', '/') ?? null
}

/** Whether a file is one of Hindsight. */
export function isInternal (file: string): boolean {
  return INTERNALS.some((folder) => file.startsWith(folder))
}

/** A file relative to the working directory, or to `node_modules`. */
export function shortFile (file: string): string {
  const root = process.cwd() + sep
  const inPackage = file.lastIndexOf(`node_modules${sep}`)
  if (inPackage !== -1) return visibleLine(file.slice(inPackage + 13))
  return visibleLine(file.startsWith(root) ? file.slice(root.length) : file)
}

/** `file:line` of a frame, as far as they are known. */
export function placeOf ({ file, line }: StackFrame): string {
  if (file === '') return '(no file)'
  return line > 0 ? `${shortFile(file)}:${line}` : shortFile(file)
}

/** A place, `file:line`, as a frame without source. */
export function frameAt (place: string, name = ''): StackFrame {
  const [, file = place, line = '0'] = /^(.*):(\d+)$/.exec(place) ?? []
  return { file, line: Number(line), column: 0, function: name, own: isOwn(file) }
}

/** The frame of a function with its source, which begins two lines before it. */
export function withSource (frame: StackFrame): StackFrame {
  const excerpt = excerptReader()(frame.file, frame.line, LINES_AFTER)
  if (excerpt === undefined) return frame
  const before = Math.max(0, frame.line - 2 - excerpt.start)
  return { ...frame, excerpt: { start: excerpt.start + before, lines: excerpt.lines.slice(before) } }
}

/** The place of a syntax error, which its stack names before the message, or the message itself; null without one. */
export function syntaxFrame (stack: string, message: string, root = process.cwd()): StackFrame | null {
  const [, url, line, column = '0'] = /^(\S.*):(\d+)\n[^]*\n\w*SyntaxError: /.exec(stack.slice(0, MAX_LINE_LENGTH)) ??
    /^((?:[A-Z]:)?[\\/].+?):(\d+):(\d+): error: /im.exec(message.slice(0, MAX_LINE_LENGTH)) ??
    // The loader of tsx, whose position is the first line where brackets are not balanced.
    /^Parse error ((?:[A-Z]:)?[\\/].+?):(\d+):(\d+)$/.exec(message.slice(0, MAX_LINE_LENGTH)) ?? []
  if (url === undefined) return null
  const file = toPath(url)
  if (!isAbsolute(file)) return null
  return { file, line: Number(line), column: Number(column), function: '(syntax)', own: isOwn(file, root) }
}

/** The lines of a file around a 1-based line; undefined where the file is no readable source or has no such line. */
export type ExcerptReader = (file: string, line: number, around?: number) => CodeExcerpt | undefined

/** Makes the reader for the excerpts of one error: it reads each file once. */
export function excerptReader (): ExcerptReader {
  const files = new Map<string, string[]>()
  return (file, line, around = 5) => {
    if (line < 1 || !isAbsolute(file) || !SOURCE.has(extname(file).toLowerCase())) return undefined
    const lines = files.get(file) ?? readLines(file)
    files.set(file, lines)
    const start = Math.max(1, line - around)
    return line > lines.length ? undefined : { start, lines: lines.slice(start - 1, line + around).map(cutLine) }
  }
}

function readLines (file: string): string[] {
  try {
    const stat = statSync(file)
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES) return []
    const lines = readFileSync(file, 'utf8').replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
    if (lines.at(-1) === '') lines.pop()
    return lines
  } catch {
    return []
  }
}

function cutLine (line: string): string {
  return line.length > MAX_SOURCE_LINE ? `${line.slice(0, MAX_SOURCE_LINE)}…` : line
}
