import { AsyncLocalStorage } from 'node:async_hooks'
import { types } from 'node:util'
import { performance } from '../clock.js'
import { queries } from './channel.js'
import type { Run } from './run.js'
import { callerOf, frameLimit, framesHere, removeInternalFrames } from './stack.js'

type Callback = (this: unknown, ...results: unknown[]) => unknown

/** What `recordQuery` needs of a query. */
export interface QueryStart extends Pick<Query, 'system' | 'statement' | 'parameters'> {}

export type NewQuery = QueryStart & Pick<Query, 'frames' | 'isOuter' | 'isPartial' | 'connection' | 'client' | 'run'>

/**
 * A query of a database client, as its wrapper publishes it. The wrapper completes the object when the query ends:
 * properties that are added then take up to half of the time of a query.
 */
export class Query {
  /** `db.system.name` of OpenTelemetry's semantic conventions, such as `postgresql`, `mysql`, `sqlite`, `redis`. */
  system!: string
  /** The text of the statement, with its placeholders; of a client without one, the command and its target. */
  statement!: string
  /** Values of the placeholders, a list or an object; not masked. */
  parameters?: unknown = undefined
  /** On the clock of `performance.now()`. */
  startedAt = performance.now()
  endedAt?: number | undefined = undefined
  /** Milliseconds for which it waited for a connection of its pool, before `startedAt`. */
  wait?: number | undefined = undefined
  /** How many connections its pool has, where it waited as all of them were in use. */
  exhausted?: number | undefined = undefined
  /** Rows that were returned, or affected by a statement that returns none. */
  rows?: number | undefined = undefined
  error?: unknown = undefined
  /** Whether it ran in the thread of its caller. */
  isSync?: boolean | undefined = undefined
  /** Milliseconds before `startedAt` in which Hindsight recorded it. */
  internal = 0
  /**
   * Frames of the code that sent it, or made it where the client sends it later; see `framesHere`. Null: a subscriber
   * needs them, see `addFrames`.
   */
  frames?: string | null | undefined = undefined
  /** Whether those of drivers in its asynchronous context are parts of it. */
  isOuter?: boolean | undefined = undefined
  /** The query that this one is a part of: it is not recorded by itself. */
  outer?: Query | undefined = undefined
  /** Whether only a part of its parameters is published. */
  isPartial?: boolean | undefined = undefined
  ended?: ((query: Query) => void) | undefined = undefined
  /** Calls back for the request that sent it: clients do so in the context that opened their connection. */
  enter?: ((callback: Callback, self: unknown, results: unknown[]) => unknown) | undefined = undefined
  /** The hook of the application that has sent it, with the number of its event; the recorder sets it. */
  hook?: { readonly position: number } | null | undefined = undefined
  /**
   * What is the same for queries of one connection, where that is known: a transaction has one. That of the database
   * itself, `client` or `run`, for a pool, which sends each query on any free connection.
   */
  connection?: unknown = undefined
  /** The same for queries of one database, such as its client; default: `run`. */
  client?: unknown = undefined
  /** Runs a statement on the same client and returns its rows: for the plan of the query. Absent: it cannot. */
  run?: Run | undefined = undefined

  constructor (start: NewQuery) {
    Object.assign(this, start)
    const { system, isOuter } = start
    const outer = isOuter === true ? undefined : announced ?? outerQuery.getStore()
    // A client may report the end of a transaction only before that is sent.
    if (outer === undefined || (outer.endedAt !== undefined && outer !== announced)) return
    if (!(DRIVERS[outer.system] ?? [outer.system]).includes(system)) return
    this.outer = outer
    // Other queries may begin in tasks before the end of this turn.
    if (outer === announced) announced = undefined
  }
}

const kOuter = Symbol.for('fastify-hindsight.outer-query')
/** The query of an ORM whose driver runs, in all copies of this package. */
export const outerQuery = (globalThis as { [kOuter]?: AsyncLocalStorage<Query> })[kOuter] ??= new AsyncLocalStorage()

let announced: Query | undefined

/** For a client that reports a query before its driver sends it in the same task. */
export function announceQuery (query: Query): void {
  announced = query
  queueMicrotask(() => { announced = undefined })
}

const SQL = ['postgresql', 'mysql', 'sqlite']
/** The systems of the drivers with which others are reached. */
const DRIVERS: Readonly<Record<string, readonly string[]>> =
  { mariadb: ['mysql'], cockroachdb: ['postgresql'], prisma: [...SQL, 'mongodb'], other_sql: SQL }

/** How a query ended: with its number of rows, or with its error. */
export interface QueryEnd extends Pick<Query, 'rows' | 'error'> {
  /** Milliseconds, of a client that reports its queries when they have ended. */
  duration?: number | undefined
}

/** The query whose client method is running: queries that this method sends are parts of it. */
let running: Query | null = null

/**
 * Publishes the beginning of a query and returns it, to be completed; null if it is not recorded, or is a part of
 * another one.
 */
export function beginQuery (start: NewQuery): Query | null {
  if (!queries.hasSubscribers || isPartOfRunning()) return null
  const arrivedAt = performance.now()
  const begun = new Query(start)
  queries.publish(begun)
  addFrames(begun)
  // Without the time in which it was recorded.
  begun.startedAt = performance.now()
  begun.internal = begun.startedAt - arrivedAt
  return begun
}

/** Captures the frames of a query that was published: the frames of subscribers would double the time of a stack. */
export function addFrames (query: Query, limits?: number[]): void {
  if (query.frames === null) query.frames = framesHere(callerOf(addFrames), limits) ?? ''
}

export function endQuery (query: Query | null | undefined, { rows, error, duration }: QueryEnd = {}): void {
  if (query === null || query === undefined || query.endedAt !== undefined) return
  query.endedAt = performance.now()
  // A client that sends its queries in a task of its own is awaited by the application.
  if (query.frames === '') query.frames = framesHere(endQuery) ?? ''
  if (duration !== undefined) query.startedAt = query.endedAt - duration
  if (rows !== undefined) query.rows = rows
  if (error !== undefined) query.error = error
  query.ended?.(query)
}

/** The query has its connection, for which it waited since it began. */
export function endWait (query: Query, exhausted?: number): void {
  const now = performance.now()
  query.wait = now - query.startedAt
  query.exhausted = exhausted
  query.startedAt = now
}

/**
 * Calls a method of a client. Queries that it sends synchronously are parts of `query` and not recorded again; of an
 * ORM, those that its driver sends later, too.
 */
export function withinQuery<T> (query: Query | null, call: () => T): T {
  const outer = running
  running = query ?? running
  try {
    if (query?.isOuter === true) return outerQuery.run(query, call)
    return call()
  } finally {
    running = outer
  }
}

/** Whether the method of a client that is running sends what it has published itself. */
export function isPartOfRunning (): boolean {
  return running !== null && running.isOuter !== true
}

/** The query that a method of a client runs for, in code that the method calls synchronously. */
export function runningQuery (): Query | null {
  return running
}

/** Calls a method that returns its result, or throws. `end`: as of `callAsync`. */
export function callSync<T> (
  query: Query | null, call: () => T, rowsOf: RowsOf<T>, end = (value: T): void => endQuery(query, endOf(rowsOf, value))
): T {
  if (query !== null) query.isSync = true
  try {
    const result = withinQuery(query, call)
    end(result)
    return result
  } catch (error) {
    endQuery(query, { error })
    throw error
  }
}

export type RowsOf<T> = (result: T) => number | null | undefined

// The result of a mock may have any shape.
function endOf<T> (rowsOf: RowsOf<T>, result: T): QueryEnd {
  try {
    return { rows: rowsOf(result) ?? undefined }
  } catch {
    return {}
  }
}

/**
 * Calls a method that returns a promise. The result is a promise of the same class, which follows that one: a rejection
 * that the application ignores is still reported. What is no promise, as of a mock, is returned as it is. `end`: what
 * happens with the result, where it is not the end of the query.
 */
export function callAsync<T> (
  query: Query | null, call: () => T, rowsOf: RowsOf<Awaited<T>>,
  end = (value: Awaited<T>): void => endQuery(query, endOf(rowsOf, value))
): T {
  const limit = frameLimit()
  try {
    const result = withinQuery(query, call)
    // Other thenables may be lazy, or have properties of their own.
    if (!types.isPromise(result)) {
      endQuery(query)
      return result
    }
    return result.then((value) => {
      end(value as Awaited<T>)
      return value
    }, (error: unknown) => {
      removeInternalFrames(error, limit)
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
  const callback = args.at(-1) as Callback
  const limit = frameLimit()
  function observed (this: unknown, ...results: unknown[]): unknown {
    const [error, result] = results
    removeInternalFrames(error, limit)
    const end = endOf(rowsOf, result as never)
    endQuery(query, error ? { error } : end)
    const before = running
    running = outer
    try {
      // Without further functions: errors of the callback have their frames.
      return query?.enter === undefined ? callback.apply(this, results) : query.enter(callback, this, results)
    } finally {
      running = before
    }
  }
  return withinQuery(query, () => call([...args.slice(0, -1), observed]))
}
