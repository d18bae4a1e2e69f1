import { findSourceMap } from 'node:module'
import { join } from 'node:path'
import { isBundled } from '../require.js'
import { queries } from './channel.js'

/**
 * Frames that are searched for the caller: an ORM may have dozens between it and its driver. Without one it is among
 * the first: 6 frames of a deep stack take 10 µs, and each further one 0.5.
 */
const FRAMES = [6, 20, 60]
/** The function of Node.js that makes stacks. A call of it takes as long as the line. */
const BY_NODE = 'ErrorPrepareStackTrace'
let searched = 0
let isFinal = false
/** Whether only a stack is searched in which the application itself has called Node.js. */
let isDirect = false
const OF_PACKAGE = '-'
/** What makes the stacks of the process: Node.js, or a loader that applies source maps which Node.js does not have. */
let formatter: typeof Error.prepareStackTrace | undefined

/**
 * Frames of the stack that may be those of the application, without frames of packages; undefined if no queries are
 * recorded. Source maps are applied later, to distinct frames: for each frame of each query they would take too long.
 * `needsAll`: false where the first one is enough.
 */
export function framesHere (above = callerOf(framesHere), limits = FRAMES, needsAll = true): string | undefined {
  if (!queries.hasSubscribers) return undefined
  return searchFrames(above, limits, needsAll)
}

/** The same; empty where a package has called Node.js. */
export function directFrames (above: object): string | undefined {
  if (!queries.hasSubscribers) return undefined
  isDirect = true
  try {
    const frames = searchFrames(above, FRAMES, true)
    return frames === OF_PACKAGE ? '' : frames
  } finally {
    isDirect = false
  }
}

function searchFrames (above: object, limits: readonly number[], needsAll: boolean): string | undefined {
  const { stackTraceLimit, prepareStackTrace } = Error
  const at: { stack?: string } = {}
  formatter = prepareStackTrace
  Reflect.set(Error, 'prepareStackTrace', framesOf)
  try {
    for (const limit of limits) {
      searched = limit
      isFinal = !needsAll || limit === limits.at(-1)
      Reflect.set(Error, 'stackTraceLimit', limit)
      Error.captureStackTrace(at, above as () => void)
      if (at.stack !== '') break
    }
    return at.stack
  } finally {
    searched = 0
    Reflect.set(Error, 'prepareStackTrace', prepareStackTrace)
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
  }
}

/** The function that the application has called, if it is one of a wrapper; else another one. */
export function callerOf (other: object): object {
  return entry ?? other
}

function framesOf (error: Error, sites: readonly NodeJS.CallSite[]): string {
  const lines: string[] = []
  let isLast = false
  for (const site of sites) {
    const origin = originOf(site.getFileName() ?? 'node:')
    if (origin === 'package' && isDirect && lines.length === 0) return OF_PACKAGE
    if (origin === 'application') lines.push(lineOf(error, site))
    if (origin === 'node') continue
    isLast = origin === 'application'
  }
  const isCut = sites.length === searched
  // Further functions of the application may have called these.
  if (isLast && isCut && !isFinal) return ''
  return lines.join('\n')
}

/** The line of a call. The source maps of Node.js are applied when the line is read. */
function lineOf (error: Error, site: NodeJS.CallSite): string {
  const line = `    at ${String(site)}`
  const format = formatter
  if (typeof format !== 'function' || format.name === BY_NODE) return line
  if (findSourceMap(site.getFileName() ?? '') !== undefined) return line
  try {
    formatter = undefined
    return /\n( +at .+)$/.exec(String(format(error, [site])))?.[1] ?? line
  } catch {
    // It may be one of the application.
    return line
  } finally {
    formatter = format
  }
}

type Origin = 'application' | 'package' | 'node'

/** Of the files of frames: a test of each frame would take half of the time of a stack. */
const origins = new Map<string, Origin>()
const MAX_ORIGINS = 1_000

function originOf (file: string): Origin {
  const known = origins.get(file)
  if (known !== undefined) return known
  const isPackage = /[\\/]node_modules[\\/]/.test(file) || INTERNALS.some((folder) => file.startsWith(folder))
  let origin: Origin = isPackage ? 'package' : 'application'
  if (file.startsWith('node:')) origin = 'node'
  if (origins.size >= MAX_ORIGINS) origins.clear()
  origins.set(file, origin)
  return origin
}

/** Frames of this folder between a method that an application calls and the client's own. */
const ADDED_FRAMES = 10
// In a bundle its frames are in one file with those of the application.
const FOLDERS = isBundled ? [] : [import.meta.dirname, new URL('.', import.meta.url).href]
const INTERNALS = isBundled ? [] : [join(import.meta.dirname, '../'), new URL('../', import.meta.url).href]

/** How many frames the application has stacks of; a wrapper adds some to this number. */
export function frameLimit (): number {
  return Error.stackTraceLimit - (entry === null ? 0 : ADDED_FRAMES)
}

/** Removes the frames of this folder, and those that are above the limit without them. */
export function removeInternalFrames (error: unknown, limit: number): void {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return
  setStack(error, cleanStack(error.stack, limit))
}

/** Sets the stack of an error, also where its client has made that read-only. */
export function setStack (error: Error, stack: string): void {
  if (stack === error.stack || Reflect.set(error, 'stack', stack)) return
  Reflect.defineProperty(error, 'stack', { value: stack })
}

/** A stack without the frames of this folder, and without those that are above the limit then. */
export function cleanStack (stack: string, limit: number): string {
  const all = stack.split('\n')
  const lines = withoutFrames(all)
  const first = all.findIndex((line) => /^\s+at /.test(line))
  const isLonger = all.length === lines.length && all.length - first === limit + ADDED_FRAMES
  if (first === -1 || (all.length === lines.length && !isLonger)) return stack
  return lines.slice(0, first + limit).join('\n')
}

export function withoutFrames (lines: readonly string[]): string[] {
  const isHere = (line = ''): boolean => FOLDERS.some((folder) => line.includes(folder))
  return lines.filter((line, i) => !isHere(line) && !(line.includes('AsyncLocalStorage.run ') && isHere(lines[i + 1])))
}

/** A method, as the wrapper receives it: `this`, the arguments, and the method itself. */
type Wrapper = (self: any, args: any[], original: (...args: any[]) => any) => unknown

/**
 * Replaces a method of one object by a wrapper with the same properties. It is not enumerable: the object looks the
 * same to `util.inspect` and to copies. An object without the method is left as it is.
 */
export function wrapMethod (object: object, name: string | symbol, wrapper: Wrapper): void {
  const original: unknown = (object as Record<string | symbol, unknown>)[name]
  if (typeof original !== 'function') return
  const enumerable = Object.getOwnPropertyDescriptor(object, name)?.enumerable ?? false
  const value = wrapFunction(original as (...args: unknown[]) => unknown, wrapper)
  Object.defineProperty(object, name, { configurable: true, writable: true, enumerable, value })
}

let entry: object | null = null

/**
 * A function that calls the wrapper, with all other properties of the original. The stack of what it throws has no
 * frame of this folder, and as many others as without it.
 */
export function wrapFunction<T extends (...args: any[]) => unknown> (original: T, wrapper: Wrapper): T {
  function apply (target: T, self: unknown, args: unknown[]): unknown {
    const outer = entry
    const { stackTraceLimit } = Error
    entry = apply
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit + ADDED_FRAMES)
    try {
      return wrapper(self, args, target)
    } catch (error) {
      removeInternalFrames(error, stackTraceLimit)
      throw error
    } finally {
      entry = outer
      Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
    }
  }
  // The text of a proxy is that of a native function.
  const get = (target: T, name: string | symbol, self: unknown): unknown =>
    name === 'toString' ? target.toString.bind(target) : Reflect.get(target, name, self)
  return new Proxy(original, { apply, get })
}
