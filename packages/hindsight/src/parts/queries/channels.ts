import type { AsyncLocalStorage } from 'node:async_hooks'
import { cachedByObject } from '../../call.js'
import { performance } from '../../clock.js'
import { requestContext, type RequestContext } from '../../recording/trace.js'
import { mysqlRun } from '../../queries/clients/mysql2.js'
import { endQuery, isPartOfRunning, outerQuery, Query, type NewQuery } from '../../queries/query.js'
import { framesHere } from '../../queries/stack.js'
import { isObject } from '../read.js'

/** The message of a tracing channel: the same object at the beginning and at the end of an operation. */
interface Context extends Record<string, unknown> { result?: unknown, error?: unknown }

/** A library that publishes its queries, its first release that does, and its tracing channels. */
interface Library {
  name: string
  /** Undefined: it is not released yet. */
  since?: string
  channels: readonly string[]
  /** Null: its parts are published, too. */
  queryOf: (context: Context) => NewQuery | null
  rowsOf: (result: unknown, context: Context) => number | undefined
}

type Reader = Pick<Library, 'queryOf' | 'rowsOf'>

function lengthOf (result: unknown): number | undefined {
  return Array.isArray(result) ? result.length : undefined
}

const mysql: Reader = {
  queryOf: ({ query, values, ...address }) =>
    ({ system: 'mysql', statement: String(query), parameters: values, run: mysqlRun(address) }),
  rowsOf: (result) => lengthOf(result) ?? Object(result).affectedRows as number | undefined
}

// The length of a reply may be that of a text. Values that are written are question marks.
const redis: Reader = {
  queryOf ({ command, args }) {
    const name = String(command).toUpperCase()
    const [first, ...rest] = Array.isArray(args) ? args : []
    const values = String(first).toUpperCase() === name ? rest : [first, ...rest].filter((value) => value !== undefined)
    return { system: 'redis', statement: name, parameters: values }
  },
  rowsOf (result) {
    if (result === null) return 0
    if (typeof result === 'string' || isObject(result)) return 1
    return lengthOf(result)
  }
}

// The commands of a transaction are not published; those of another batch are, one by one.
const nodeRedis: Reader = {
  queryOf (context) {
    const { command, batchMode, batchSize } = context
    if (command !== undefined) return redis.queryOf(context)
    return batchMode === 'MULTI' ? { system: 'redis', statement: 'MULTI', parameters: [batchSize] } : null
  },
  rowsOf: (result, context) => context.command === undefined ? undefined : redis.rowsOf(result, context)
}

// Limits, orders and changes are not published, and its options are not those of the command.
const mongoose: Reader = {
  queryOf ({ operation, collection, args }) {
    const { options, ...parameters } = Object(args) as Record<string, unknown>
    const statement = `${String(collection)}.${String(operation)}`
    return { system: 'mongodb', statement, parameters, isOuter: true, isPartial: true }
  },
  rowsOf (result) {
    if (result === null) return 0
    if (!isObject(result)) return lengthOf(result)
    const { insertedCount, modifiedCount, deletedCount } = result
    const counts = [insertedCount, modifiedCount, deletedCount].filter((count) => typeof count === 'number')
    if (counts.length === 0) return 1
    return counts.reduce((sum, count) => sum + count)
  }
}

// The values of parameters are not published; a table that is filled at once has no statement.
const mssql: Reader = {
  queryOf ({ command, statement = command, procedure, table }) {
    let text = String(statement)
    if (procedure !== undefined) text = `exec ${String(procedure)}`
    if (table !== undefined) text = `insert bulk ${String(table)}`
    return { system: 'microsoft.sql_server', statement: text }
  },
  rowsOf (result) {
    // A callback receives the lists of rows, or the number of rows that a table was filled with.
    const { recordset = Object(result)[0], rowsAffected = result } = Object(result) as Record<string, unknown>
    const counts = [rowsAffected].flat().filter((count) => typeof count === 'number')
    return lengthOf(recordset) ?? (counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count))
  }
}

// Proposed in node-postgres#3650; without values.
const pg: Reader = {
  queryOf: ({ query }) => ({ system: 'postgresql', statement: String(Object(query).text) }),
  rowsOf: (result) => Object(result).rowCount as number | undefined
}

/** The table in `docs/how-to/queries.md` has the same rows. */
export const LIBRARIES: readonly Library[] = [
  { name: 'mysql2', since: '3.20', channels: ['mysql2:query', 'mysql2:execute'], ...mysql },
  { name: 'ioredis', since: '5.11', channels: ['ioredis:command'], ...redis },
  { name: 'redis', since: '5.12', channels: ['node-redis:command', 'node-redis:batch'], ...nodeRedis },
  {
    name: 'mongoose',
    since: '9',
    channels: ['query', 'aggregate', 'model:save', 'model:insertMany', 'model:bulkWrite'].map((of) => `mongoose:${of}`),
    ...mongoose
  },
  {
    name: 'mssql',
    since: '12.4',
    channels: ['query', 'batch', 'execute', 'bulk', 'prepared-statement:execute'].map((of) => `mssql:${of}`),
    ...mssql
  },
  { name: 'pg', channels: ['pg:query'], ...pg }
]

/** Of node:sqlite since 24.22: a statement that has ended, with its values, and its time in nanoseconds. */
const SQLITE_CHANNEL = 'sqlite.db.query'

/** How a pool of mysql2 gives a connection to a query, which it sends in a callback. */
interface Connecting { since: number, wait: number, frames: string }

/** What is known of an operation. */
interface Operation {
  query?: Query
  connecting?: Connecting
  /** The context in which it began, where its callbacks have another one. */
  request?: RequestContext | undefined
}

const operationOf = cachedByObject((_context: Context): Operation => ({}))

type Subscriber = readonly [channel: string, subscriber: (context: Context) => void]
type Store = readonly [channel: string, store: AsyncLocalStorage<any>, valueOf: (context: Context) => unknown]

/** The subscribers of the tracing channels that database clients publish, and the stores that these bind. */
export function clientSubscribers (record: (query: Query) => void): { subscribers: Subscriber[], stores: Store[] } {
  const stores: Store[] = CALLBACKS.map((name) => [name, requestContext, (context) => operationOf(context).request])
  const subscribers: Subscriber[] = []
  for (const library of LIBRARIES) {
    for (const name of library.channels) {
      const { begin, end } = recorderOf(library, record)
      subscribers.push([`tracing:${name}:asyncStart`, end])
      if (library.name !== 'mongoose') subscribers.push([`tracing:${name}:start`, begin])
      else {
        stores.push([`tracing:${name}:start`, outerQuery, (context) => {
          begin(context)
          return operationOf(context).query ?? outerQuery.getStore()
        }])
      }
    }
  }
  const ended: Subscriber = [SQLITE_CHANNEL, ({ sql, duration }) => {
    // Of an observed database: it is recorded already.
    if (isPartOfRunning()) return
    const query = new Query({ system: 'sqlite', statement: String(sql) })
    query.isSync = true
    record(query)
    endQuery(query, { duration: Number(duration) / 1_000_000 })
  }]
  return { subscribers: [...subscribers, ended, ...CONNECTIONS], stores }
}

/** Records the operations of a library at their beginning and their end. */
function recorderOf ({ name, queryOf, rowsOf }: Library, record: (query: Query) => void) {
  return {
    begin (context: Context): void {
      // Of an observed client: it is recorded already.
      if (isPartOfRunning()) return
      const start = queryOf(context)
      if (start === null) return
      const query = new Query(start)
      operationOf(context).query = query
      const connection = connected
      connected = null
      if (connection === null || name !== 'mysql2') return record(query)
      // In the callback the stack has the caller only where the application itself has requested the connection.
      const frames = `${framesHere() ?? ''}\n${connection.frames}`
      record(Object.assign(query, { frames, wait: connection.wait }))
    },
    end (context: Context): void {
      const { query } = operationOf(context)
      const { error, result } = context
      endQuery(query, 'error' in context ? { error } : { rows: rowsOf(result, context) })
    }
  }
}

/** The connection whose callback is running. */
let connected: Connecting | null = null

/** Channels of functions whose callbacks run in the context of the request that opened the connection. */
const CHANNELS = ['mysql2:pool:connect', ...LIBRARIES.filter(({ name }) => name === 'mysql2' || name === 'mssql')
  .flatMap(({ channels }) => channels)]
const CALLBACKS = CHANNELS.map((name) => `tracing:${name}:asyncStart`)

const CONNECTIONS = [
  ...CHANNELS.map((name) => [`tracing:${name}:start`, (context: Context): void => {
    operationOf(context).request = requestContext.getStore()
  }] as const),
  ['tracing:mysql2:pool:connect:start', (context: Context): void => {
    operationOf(context).connecting = { since: performance.now(), wait: 0, frames: framesHere() ?? '' }
  }],
  ['tracing:mysql2:pool:connect:asyncStart', (context: Context): void => {
    connected = operationOf(context).connecting ?? null
    if (connected !== null) connected.wait = performance.now() - connected.since
  }],
  ['tracing:mysql2:pool:connect:asyncEnd', (): void => { connected = null }]
] as const
