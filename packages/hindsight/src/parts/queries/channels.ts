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

interface Client {
  /** Null: its parts are published, too. */
  queryOf: (context: Context) => NewQuery | null
  rowsOf: (result: unknown) => number | undefined
}

function lengthOf (result: unknown): number | undefined {
  return Array.isArray(result) ? result.length : undefined
}

const mysql: Client = {
  queryOf: ({ query, values, ...address }) =>
    ({ system: 'mysql', statement: String(query), parameters: values, run: mysqlRun(address) }),
  rowsOf: (result) => lengthOf(result) ?? Object(result).affectedRows as number | undefined
}

// The length of a reply may be that of a text. Values that are written are question marks.
const redis: Client = {
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

// The commands of a transaction are not published.
const redisBatch: Client = {
  queryOf ({ batchMode, batchSize }) {
    if (batchMode !== 'MULTI') return null
    return { system: 'redis', statement: 'MULTI', parameters: [batchSize] }
  },
  rowsOf: () => undefined
}

// Limits, orders and changes are not published, and its options are not those of the command.
const mongoose: Client = {
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

// Proposed in node-postgres#3650; without values.
const pg: Client = {
  queryOf: ({ query }) => ({ system: 'postgresql', statement: String(Object(query).text) }),
  rowsOf: (result) => Object(result).rowCount as number | undefined
}

/**
 * Beside node:sqlite: pg in a later release, mysql2 since 3.20, ioredis since 5.11, node-redis since 5.12, mongoose
 * since 9.
 */
const CLIENTS: Readonly<Record<string, Client>> = {
  'pg:query': pg,
  'mysql2:query': mysql,
  'mysql2:execute': mysql,
  'ioredis:command': redis,
  'node-redis:command': redis,
  'node-redis:batch': redisBatch,
  'mongoose:query': mongoose,
  'mongoose:aggregate': mongoose,
  'mongoose:model:save': mongoose,
  'mongoose:model:insertMany': mongoose,
  'mongoose:model:bulkWrite': mongoose
}

/** Of node:sqlite since 24.22: a statement that has ended, with its values, and its time in whole milliseconds. */
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
  const subscribers = Object.entries(CLIENTS).flatMap(([name, { queryOf, rowsOf }]): Subscriber[] => {
    const begin = (context: Context): void => {
      // Of an observed client: it is recorded already.
      if (isPartOfRunning()) return
      const start = queryOf(context)
      if (start === null) return
      const query = new Query(start)
      operationOf(context).query = query
      const connection = connected
      connected = null
      if (connection === null || !name.startsWith('mysql2:')) return record(query)
      // In the callback the stack has the caller only where the application itself has requested the connection.
      const frames = `${framesHere() ?? ''}\n${connection.frames}`
      record(Object.assign(query, { frames, wait: connection.wait }))
    }
    const end = (context: Context): void => {
      const { query } = operationOf(context)
      const { error, result } = context
      endQuery(query, 'error' in context ? { error } : { rows: rowsOf(result) })
    }
    const ended: Subscriber = [`tracing:${name}:asyncStart`, end]
    if (!name.startsWith('mongoose:')) return [[`tracing:${name}:start`, begin], ended]
    stores.push([`tracing:${name}:start`, outerQuery, (context) => {
      begin(context)
      return operationOf(context).query ?? outerQuery.getStore()
    }])
    return [ended]
  })
  const ended: Subscriber = [SQLITE_CHANNEL, ({ sql, duration }) => {
    // Of an observed database: it is recorded already.
    if (isPartOfRunning()) return
    const query = new Query({ system: 'sqlite', statement: String(sql) })
    query.isSync = true
    record(query)
    endQuery(query, { duration: Number(duration) })
  }]
  return { subscribers: [...subscribers, ended, ...CONNECTIONS], stores }
}

/** The connection whose callback is running. */
let connected: Connecting | null = null

const CHANNELS = ['mysql2:query', 'mysql2:execute', 'mysql2:pool:connect']
/** The channels of callbacks, which mysql2 calls in the context of the request that opened the connection. */
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
