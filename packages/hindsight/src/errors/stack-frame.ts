import { isAbsolute, sep } from 'node:path'
import { cachedFunction } from '../call.js'
import { isBundled, modulePlace } from '../require.js'
import { visibleLine } from '../view/text.js'
import type { StackFrame } from './exception.js'
import { isSource, sourceCache } from './source-file.js'
import { originalPlace, toPath, type Place } from './source-map.js'
import { textOfStack } from './thrown-value.js'

// The patterns of this file take quadratic time on a long line.
const MAX_LINE_LENGTH = 2_000
/** The receiver of a function that is called as a method of a plain object: it names nothing. */
const OBJECT = /^(async )?Object\./
const FRAME_LINE = /^\s*at /
const INTERNALS = isBundled ? [] : ['.', '../bin/'].map((folder) => toPath(new URL(folder, modulePlace).href))
const MAX_PLACES = 1_000
/** The file of Fastify with the function `next` that hooks call. */
const NEXT = /[\\/]node_modules[\\/]fastify[\\/]lib[\\/]hooks\.js$/
const PACKAGE = /^.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/

/** Splits a stack into its message and its frame lines. Lines of a message may look like frames and are none. */
export function splitStack (stack: string, message: string): { head: string, frames: string } {
  const at = stack.indexOf(message)
  const isFound = message !== '' && at !== -1 && !stack.slice(0, at).includes('\n')
  const end = isFound ? at + message.length : startOfFrames(stack)
  return { head: stack.slice(0, end).trimEnd(), frames: stack.slice(end).replace(/^\n/, '').trimEnd() }
}

// If the message was changed after the stack was captured, only the last lines are certain to be frames.
function startOfFrames (stack: string): number {
  const lines = stack.trimEnd().split('\n')
  const last = lines.findLastIndex((line) => !FRAME_LINE.test(line))
  return lines.slice(0, last + 1).reduce((length, line) => length + line.length + 1, 0)
}

/** Parses the frame lines of a stack; `isMapped`: the runtime may have applied source maps to them. */
export function stackFrames (frames: string, { isMapped = true } = {}): StackFrame[] {
  const all = frames.split('\n').map((line) => frameOf(line, isMapped)).filter((frame) => frame !== null)
  markCallers(all)
  return all
}

/**
 * Calls of the application that have only begun or continued a request are not its own ones: what has called
 * `app.inject()`, and, unless own code has run since, a hook that has called the next function: by itself, or by a
 * function such as `storage.run(store, done)`.
 */
export function markCallers (frames: readonly StackFrame[]): void {
  let called: string | null = null
  let hasAppFrame = false
  let isRouted = false
  let continues = false
  for (const frame of frames) {
    if (isInternal(frame.file)) continue
    const name = packageOf(frame.file)
    isRouted ||= name === 'find-my-way' && called === 'fastify'
    if (name === 'fastify') continues = !hasAppFrame && frame.function === 'next' && NEXT.test(frame.file)
    if (isRouted || continues) frame.own = false
    hasAppFrame ||= frame.own
    called = name
  }
}

/** The calls in the stack of an error that are neither those of Hindsight nor of Node.js. */
export function outsideCalls (error: Error): StackFrame[] {
  const calls = stackFrames(splitStack(textOfStack(error), error.message).frames)
  return calls.filter(({ file }) => file !== '' && !file.startsWith('node:') && !isInternal(file))
}

/** The position of a frame, as `file:line:column`. */
export function positionOf ({ file, line, column }: StackFrame): string {
  return `${file}:${line}:${column}`
}

/** The calls of frames in the application's own code, as `file:line:column`. */
export function appSources (frames: string): string[] {
  return stackFrames(frames, { isMapped: false }).filter(({ own }) => own).map(positionOf)
}

/** The first of these calls; null where none is. The frames of the same line are the same in later requests. */
export const appSource = cachedFunction((frames: string): string | null => appSources(frames)[0] ?? null)

/** The call of the application that made a stack; undefined where none is certain. */
export function callerFrame (error: Error): StackFrame | undefined {
  return outsideCalls(error).find(({ own, line }) => own && line > 0)
}

function frameOf (line: string, isMapped: boolean): StackFrame | null {
  if (line.length > MAX_LINE_LENGTH || !FRAME_LINE.test(line)) return null
  const call = line.trim().slice(3)
  // `function (place)` or `place`; both may have other parentheses, as in the name of a folder.
  const open = call.indexOf(' (')
  let place = call.replace(/^async /, '')
  let name = place === call ? '<anonymous>' : 'async <anonymous>'
  if (open !== -1 && call.endsWith(')')) {
    place = call.slice(open + 2, -1)
    name = call.slice(0, open).replace(OBJECT, '$1')
  }
  const known = cachedPlace(`${isMapped} ${place}`, () => callPlace(place, isMapped))
  if (known === UNKNOWN) return null
  return { ...known, function: name }
}

/** The place of a call in the source. */
type CallPlace = Place & { own: boolean }

const UNKNOWN: CallPlace = { file: '', line: 0, column: 0, own: false }
const cachedPlace = sourceCache<CallPlace>(MAX_PLACES)

function callPlace (place: string, isMapped: boolean): CallPlace {
  if (place === 'native') return { ...UNKNOWN }
  // `eval at function (place), <anonymous>:1:1`
  const outer = /^eval at .* \((.*)\), /.exec(place)?.[1] ?? place
  const [, url, line, column = '0'] = /^(.+?):(\d+)(?::(\d+))?$/.exec(outer) ?? []
  if (url === undefined) return UNKNOWN
  const given = { file: toPath(url), line: Number(line), column: Number(column) }
  const shown = given.line > 0 && isSource(given.file) ? mappedPlace(url, given, isMapped) : given
  return { ...shown, own: isAppFile(shown.file) }
}

function mappedPlace (url: string, given: Place, isMapped: boolean): Place {
  const original = originalPlace(url, given.line - 1, given.column - 1)
  // A file that is compiled and its source have one name where a loader compiles it.
  if (original !== null && (original.file !== given.file || !isMapped)) return original
  return given
}

/** Whether a file is one of the application: not of a package, and not of Hindsight. */
export function isAppFile (file: string): boolean {
  return isSource(file) && packageOf(file) === null && !isInternal(file)
}

/** The package that a file belongs to; null for one outside `node_modules`. */
export function packageOf (file: string): string | null {
  return PACKAGE.exec(file)?.[1]?.replaceAll('\\', '/') ?? null
}

/** Adds a folder, with a separator at its end, whose files are not the application's: a lifecycle of its own. */
export function addInternalFolder (folder: string): void {
  if (!INTERNALS.includes(folder)) INTERNALS.push(folder)
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
  if (file.startsWith(root)) return visibleLine(file.slice(root.length))
  return visibleLine(file)
}

/** `file:line` of a frame, as far as they are known. */
export function placeOf ({ file, line }: StackFrame): string {
  if (file === '') return '(no file)'
  if (line > 0) return `${shortFile(file)}:${line}`
  return shortFile(file)
}

/** A place, `file:line`, as a frame without source. */
export function frameAt (place: string, name = ''): StackFrame {
  const [, file = place, line = '0'] = /^(.*):(\d+)$/.exec(place) ?? []
  return { file, line: Number(line), column: 0, function: name, own: isAppFile(file) }
}

/** The place of a syntax error, which its stack names before the message, or the message itself; null without one. */
export function syntaxFrame (stack: string, message: string): StackFrame | null {
  const ofEsbuild = /^((?:[A-Z]:)?[\\/].+?):(\d+):(\d+): error: /im.exec(message.slice(0, MAX_LINE_LENGTH))
  const [, url, line, column = '0'] = /^(\S.*):(\d+)\n[^]*\n\w*SyntaxError: /.exec(stack.slice(0, MAX_LINE_LENGTH)) ??
    ofEsbuild ??
    // The loader of tsx, whose position is the first line where brackets are not balanced.
    /^Parse error ((?:[A-Z]:)?[\\/].+?):(\d+):(\d+)$/.exec(message.slice(0, MAX_LINE_LENGTH)) ?? []
  if (url === undefined) return null
  const file = toPath(url)
  if (!isAbsolute(file)) return null
  // Columns of esbuild begin with 0.
  const first = ofEsbuild === null ? 0 : 1
  return { file, line: Number(line), column: Number(column) + first, function: '(syntax)', own: isAppFile(file) }
}
