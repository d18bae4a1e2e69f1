import { findSourceMap } from 'node:module'
import { isAbsolute, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseV8OrIeString } from 'error-stack-parser-es/lite'
import type { StackFrame } from './exception.js'

// The parser's patterns take quadratic time on a long line, and no frame is one.
const MAX_LINE_LENGTH = 2_000
const FRAME_LINE = /^\s*at /
const INTERNALS = ['../../plugins/', '../../lib/', '../../app/', '../../cli/'].map((folder) => fileURLToPath(new URL(folder, import.meta.url)))

/**
 * Parts a stack into the message it begins with and its lines of frames. A message can hold lines that look
 * like frames; what is known to be message is never read as a frame.
 */
export function splitStack (stack: string, message: string): { head: string, frames: string } {
  const end = endOfMessage(stack, message) ?? startOfFrames(stack)
  return { head: stack.slice(0, end).trimEnd(), frames: stack.slice(end).replace(/^\n/, '').trimEnd() }
}

function endOfMessage (stack: string, message: string): number | undefined {
  const told = message === '' ? -1 : stack.indexOf(message)
  if (told === -1 || stack.slice(0, told).includes('\n')) return undefined
  return told + message.length
}

// The message was changed after the stack was written: only the lines at the end are surely frames.
function startOfFrames (stack: string): number {
  const lines = stack.trimEnd().split('\n')
  const last = lines.findLastIndex((line) => !FRAME_LINE.test(line))
  return lines.slice(0, last + 1).reduce((length, line) => length + line.length + 1, 0)
}

/**
 * Reads the frames of a stack, without its message; a stack in no known form has none.
 * Hindsight's own frames fold like a dependency's; where nothing else is own, the first of them stands for all.
 */
export function stackFrames (frames: string, root = process.cwd()): StackFrame[] {
  const parsed = parseLines(frames).map((raw) => toFrame(raw, root))
  const isOfApplication = ({ own, file }: StackFrame): boolean => own && !isInternal(file)
  const shown = parsed.some(isOfApplication) ? undefined : parsed.find((frame) => frame.own)
  return parsed.map((frame) => frame === shown || !isInternal(frame.file) ? frame : { ...frame, own: false })
}

interface RawFrame { file: string, line: number, column: number, function: string }

/** The lines of a stack that can be frames. */
export function frameLines (frames: string): string[] {
  return frames.split('\n').filter((line) => line.length <= MAX_LINE_LENGTH && FRAME_LINE.test(line))
}

function parseLines (frames: string): RawFrame[] {
  try {
    return parseV8OrIeString(frameLines(frames).join('\n')).map((frame) => locate({
      file: frame.file ?? '',
      line: frame.line ?? 0,
      column: frame.col ?? 0,
      function: frame.function ?? ''
    }, frame.raw ?? ''))
  } catch {
    return []
  }
}

function locate (frame: RawFrame, raw: string): RawFrame {
  // The parser drops parentheses of a path, such as those of a folder named `(admin)`.
  const place = / \((.+):(\d+):(\d+)\)$/.exec(raw)?.[1]
  const file = place ?? frame.file
  // An anonymous function that was awaited has no parentheses around its place.
  if (file.startsWith('async ')) return { ...frame, file: file.slice(6), function: 'async <anonymous>' }
  return { ...frame, file }
}

function toFrame (raw: RawFrame, root: string): StackFrame {
  const { file, line, column } = mapped(raw)
  return { file, line, column, function: raw.function || '<anonymous>', own: isOwn(file, root) }
}

/** Applies a source map where the runtime has not; a file that is its own source was mapped in place already. */
function mapped (frame: RawFrame): Pick<StackFrame, 'file' | 'line' | 'column'> {
  const plain = { file: toPath(frame.file), line: frame.line, column: frame.column }
  if (!isAbsolute(plain.file) || frame.line < 1) return plain
  const original = originalPlace(frame.file, frame.line - 1, frame.column - 1)
  if (original === null || original.inPlace) return plain
  return { file: original.file, line: original.line, column: original.column }
}

/** A place in a source file; `line` and `column` count from 1. */
interface OriginalPlace { file: string, line: number, column: number, inPlace: boolean }

/**
 * The place in the source, by the source map, of a place in a compiled file, whose `line` and `column` count from 0.
 * `inPlace`: the source has the path of the compiled file. Null where there is no map.
 */
export function originalPlace (url: string, line: number, column: number): OriginalPlace | null {
  try {
    const map = findSourceMap(url)
    if (!map) return null
    const own = toPath(url)
    const entry = map.findEntry(line, Math.max(0, column))
    if (!('originalSource' in entry) || !entry.originalSource) return null
    const file = toPath(new URL(entry.originalSource, pathToFileURL(own)).href)
    return { file, line: entry.originalLine + 1, column: entry.originalColumn + 1, inPlace: file === own }
  } catch {
    return null
  }
}

/** The path of a file that the engine names by its URL; what is none of either is told as it is. */
export function toPath (file: string): string {
  if (file === '(native)') return ''
  if (!file.startsWith('file:')) return file.slice(0, MAX_LINE_LENGTH)
  try {
    return fileURLToPath(file)
  } catch {
    return file
  }
}

function isOwn (file: string, root: string): boolean {
  if (!isAbsolute(file)) return false
  const path = relative(root, file)
  if (path === '' || isAbsolute(path)) return false
  const steps = path.split(sep)
  return steps[0] !== '..' && !steps.includes('node_modules')
}

const PACKAGE = /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/

/** The package that a file is of; null for the application's own. */
export function packageOf (file: string): string | null {
  return PACKAGE.exec(file)?.[1]?.replaceAll('\\', '/') ?? null
}

/** Whether a file is one of Hindsight's own. */
export function isInternal (file: string): boolean {
  return INTERNALS.some((folder) => file.startsWith(folder))
}
