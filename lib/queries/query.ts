import { channel } from 'node:diagnostics_channel'
import { join } from 'node:path'
import { types } from 'node:util'
import { performance } from '../clock.js'
import { isBundled } from '../require.js'

/** A query of a database client, as its wrapper publishes it. The wrapper completes the object when the query ends. */
export interface Query {
  /** `db.system.name` of OpenTelemetry's semantic conventions, such as `postgresql`, `mysql`, `sqlite`, `redis`. */
  system: string
  /** The text of the statement, with its placeholders; of a client without one, the command and its target. */
  statement: string
  /** Values of the placeholders, a list or an object; not masked. */
  parameters?: unknown
  /** On the clock of `performance.now()`. */
  startedAt: number
  /** Undefined: not ended. */
  endedAt?: number | undefined
  /** Milliseconds for which it waited for a connection of its pool, before `startedAt`. */
  wait?: number | undefined
  /** Rows that were returned, or affected by a statement that returns none. */
  rows?: number | undefined
  error?: unknown
  /** Whether it ran in the thread of its caller. */
  isSync?: boolean | undefined
  /** Frames of the code that sent it, or made it where the client sends it later; see `framesHere`. */
  frames?: string | undefined
  /** The query of a driver is a part of that of an ORM, where both are recorded. */
  layer?: 'orm' | 'driver' | undefined
  /** Called when the query has ended. */
  ended?: ((query: Query) => void) | undefined
  /** As the client returned it, with one row. */
  result?: unknown
  /** What is the same for queries of one connection, where that is known: a transaction has one. */
  connection?: unknown
  /** Runs a statement on the same client and returns its rows: for the plan of the query. Absent: it cannot. */
  run?: Run | undefined
}

/** Runs statements one after the other on one connection, and returns the rows of the last one. */
export type Run = (statements: readonly string[], parameters: readonly unknown[]) => Promise<unknown[]>

/** What `recordQuery` needs of a query. */
export interface QueryStart extends Pick<Query, 'system' | 'statement' | 'parameters'> {}

type NewQuery = QueryStart & Pick<Query, 'frames' | 'layer' | 'connection' | 'run'>

/** A query that begins. Properties that are added to an object later take half of the time of a query. */
export function newQuery ({ system, statement, parameters, frames, layer, connection, run }: NewQuery): Query {
  return {
    system,
    statement,
    parameters,
    frames,
    layer,
    connection,
    run,
    startedAt: performance.now(),
    endedAt: undefined,
    wait: undefined,
    rows: undefined,
    result: undefined,
    error: undefined,
    isSync: undefined,
    ended: undefined
  }
}

/** How a query ended: with its number of rows, or with its error. */
export interface QueryEnd extends Pick<Query, 'rows' | 'error' | 'result'> {
  /** Milliseconds, of a client that reports its queries when they have ended. */
  duration?: number | undefined
}

/**
 * Queries are published at their beginning, in the asynchronous context of the code that sent them. A channel also
 * connects the copies of this package in one process, and modules that are loaded before the application.
 */
export const QUERY_CHANNEL = 'fastify-hindsight:query'

/**
 * Frames that are searched for the caller: an ORM may have dozens between it and its driver. Without one it is among
 * the first: 8 frames take 5 µs, and 20 take 9 µs.
 */
const FRAMES = [8, 20, 60] as const

/** The last line of frames whose outermost one was called by a package, and not by Node.js alone. */
export const CALLED_BY_PACKAGE = '    (called by a package)'

const queries = channel(QUERY_CHANNEL)

/** The query whose client method is running: queries that this method sends are parts of it. */
let running: Query | null = null

/**
 * Publishes the beginning of a query and returns it, to be completed; null if it is not recorded, or is a part of
 * another one.
 */
export function beginQuery (start: NewQuery): Query | null {
  if (!queries.hasSubscribers || running !== null) return null
  const begun = newQuery(start)
  queries.publish(begun)
  // Without the time in which it was recorded.
  begun.startedAt = performance.now()
  return begun
}

/** Completes a query, once. */
export function endQuery (query: Query | null | undefined, { rows, error, duration, result }: QueryEnd = {}): void {
  if (query === null || query === undefined || query.endedAt !== undefined) return
  query.endedAt = performance.now()
  // A client that sends its queries in a task of its own is awaited by the application.
  if (query.frames === '') query.frames = framesHere(endQuery) ?? ''
  if (duration !== undefined) query.startedAt = query.endedAt - duration
  if (rows !== undefined) query.rows = rows
  if (rows === 1) query.result = result
  if (error !== undefined) query.error = error
  query.ended?.(query)
}

/** The query has its connection, for which it waited since it began. */
export function endWait (query: Query, since = query.startedAt): void {
  const now = performance.now()
  query.wait = now - since
  query.startedAt = now
}

/**
 * Frames of the stack that may be those of the application, without frames of packages; undefined if no queries are
 * recorded. Source maps are applied later, to distinct frames: for each frame of each query they would take too long.
 */
export function framesHere (above: object = framesHere): string | undefined {
  if (!queries.hasSubscribers) return undefined
  const { stackTraceLimit, prepareStackTrace } = Error
  const at: { stack?: string } = {}
  Reflect.set(Error, 'prepareStackTrace', framesOf)
  try {
    for (const limit of FRAMES) {
      Reflect.set(Error, 'stackTraceLimit', limit)
      Error.captureStackTrace(at, (entry ?? above) as () => void)
      if (at.stack !== '') break
    }
    return at.stack
  } finally {
    Reflect.set(Error, 'prepareStackTrace', prepareStackTrace)
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
  }
}

function framesOf (_error: unknown, sites: readonly NodeJS.CallSite[]): string {
  const lines: string[] = []
  let [isCalled, isNamed] = [false, false]
  let origin: Origin = 'node'
  for (const site of sites) {
    origin = originOf(site.getFileName() ?? 'node:')
    // `Promise.all (index 2)` of a function with a name: it may be one of a list of calls.
    const isListed = isNamed && site.getPromiseIndex() !== null
    if (origin === 'application' || isListed) lines.push(`    at ${String(site)}`)
    if (origin !== 'node') isNamed = origin === 'application' && site.getFunctionName() !== null
    isCalled = origin === 'package' || (isCalled && origin === 'node')
  }
  const isLimited = sites.length === Error.stackTraceLimit
  // Further functions of the application may have called these.
  if (isLimited && origin !== 'package' && sites.length < FRAMES[2]) return ''
  if (lines.length > 0 && (isCalled || isLimited)) lines.push(CALLED_BY_PACKAGE)
  return lines.join('\n')
}

type Origin = 'application' | 'package' | 'node'

/** Of the files of frames: a test of each frame would take half of the time of a stack. */
const origins = new Map<string, Origin>()
const MAX_ORIGINS = 1_000

function originOf (file: string): Origin {
  const known = origins.get(file)
  if (known !== undefined) return known
  const isPackage = /[\\/]node_modules[\\/]/.test(file) || INTERNALS.some((folder) => file.startsWith(folder))
  const origin = file.startsWith('node:') ? 'node' : isPackage ? 'package' : 'application'
  if (origins.size >= MAX_ORIGINS) origins.clear()
  origins.set(file, origin)
  return origin
}

/** Calls a method of a client. Queries that it sends synchronously are parts of `query` and not recorded again. */
export function within<T> (query: Query | null, call: () => T): T {
  const outer = running
  running = query ?? outer
  try {
    return call()
  } finally {
    running = outer
  }
}

/** The query that a method of a client runs for, in code that the method calls synchronously. */
export function runningQuery (): Query | null {
  return running
}

/** Calls a function that belongs to the application: its queries are its own. */
function outside<T> (call: () => T): T {
  const outer = running
  running = null
  try {
    return call()
  } finally {
    running = outer
  }
}

/** Frames of this folder between a method that an application calls and the client's own. */
export const OWN_FRAMES = 10
// In a bundle its frames are in one file with those of the application.
const FOLDERS = isBundled ? [] : [import.meta.dirname, new URL('.', import.meta.url).href]
const INTERNALS = isBundled ? [] : [join(import.meta.dirname, '../'), new URL('../', import.meta.url).href]

/** Removes the frames of this folder, and those that are above the limit without them. */
export function removeOwnFrames (error: unknown, limit: number): void {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return
  const stack = cleanStack(error.stack, limit)
  if (stack !== error.stack) Reflect.set(error, 'stack', stack)
}

/** A stack without the frames of this folder, and without those that are above the limit then. */
export function cleanStack (stack: string, limit: number): string {
  const all = stack.split('\n')
  const lines = withoutFrames(all)
  const first = all.findIndex((line) => /^\s+at /.test(line))
  const isLonger = all.length === lines.length && all.length - first === limit + OWN_FRAMES
  if (first === -1 || (all.length === lines.length && !isLonger)) return stack
  return lines.slice(0, first + limit).join('\n')
}

/** The lines of a stack without the frames of this folder. */
export function withoutFrames (lines: readonly string[]): string[] {
  return lines.filter((line) => !FOLDERS.some((folder) => line.includes(folder)))
}

/** Calls a method that returns its result, or throws. */
export function callSync<T> (query: Query | null, call: () => T, rowsOf: RowsOf<T>): T {
  if (query !== null) query.isSync = true
  try {
    const result = within(query, call)
    endQuery(query, endOf(rowsOf, result))
    return result
  } catch (error) {
    endQuery(query, { error })
    throw error
  }
}

/** The number of rows of a result. */
export type RowsOf<T> = (result: T) => number | null | undefined

// The result of a mock may have any shape.
function endOf<T> (rowsOf: RowsOf<T>, result: T): QueryEnd {
  try {
    return { rows: rowsOf(result) ?? undefined, result }
  } catch {
    return {}
  }
}

/**
 * Calls a method that returns a promise. The result is a promise of the same class, which follows that one: a rejection
 * that the application ignores is still reported. What is no promise, as of a mock, is returned as it is.
 */
export function callAsync<T> (query: Query | null, call: () => T, rowsOf: RowsOf<Awaited<T>>): T {
  const limit = Error.stackTraceLimit - OWN_FRAMES
  try {
    const result = within(query, call)
    // Other thenables may be lazy, or have properties of their own.
    if (!types.isPromise(result)) {
      endQuery(query)
      return result
    }
    return result.then((value) => {
      endQuery(query, endOf(rowsOf, value as Awaited<T>))
      return value
    }, (error: unknown) => {
      removeOwnFrames(error, limit)
      endQuery(query, { error })
      throw error
    }) as T
  } catch (error) {
    endQuery(query, { error })
    throw error
  }
}

/**
 * Calls a method whose last argument is the callback `(error, result)`. The callback belongs to the application, or to
 * a method of the client that runs for the query `outer`.
 */
export function callBack<T> (
  query: Query | null, args: unknown[], call: (args: unknown[]) => T, rowsOf: RowsOf<never>, outer: Query | null = null
): T {
  const callback = args.at(-1) as (this: unknown, ...results: unknown[]) => unknown
  const limit = Error.stackTraceLimit - OWN_FRAMES
  function observed (this: unknown, ...results: unknown[]): unknown {
    const [error, result] = results
    removeOwnFrames(error, limit)
    const end = endOf(rowsOf, result as never)
    endQuery(query, error ? { error } : end)
    const run = outer === null ? outside : within.bind(null, outer)
    return run(() => callback.apply(this, results))
  }
  return within(query, () => call([...args.slice(0, -1), observed]))
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

/** The function that the application has called, if it is one of a wrapper. */
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
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit + OWN_FRAMES)
    try {
      return wrapper(self, args, target)
    } catch (error) {
      removeOwnFrames(error, stackTraceLimit)
      throw error
    } finally {
      entry = outer
      Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
    }
  }
  return new Proxy(original, { apply })
}
