import { performance } from '../../clock.js'
import { beginQuery, callAsync, callBack, endQuery, endWait, runningQuery, withinQuery, type Query } from '../query.js'
import { runStatements, type Run, type Kind } from '../run.js'
import { wrapMethod } from '../stack.js'

type Client = Record<string, unknown>
interface Counts { idleCount: number, waitingCount: number, totalCount: number, options: { max: number } }
interface Result { rowCount?: number | null }
interface Connection {
  query: (text: string) => Promise<{ rows: unknown[] }>
  release: (destroy?: boolean) => void
}
type Connect = () => Promise<Connection>

export const pgKind: Kind = {
  name: 'Pool or Client of pg, decorator of @fastify/postgres',
  methods: ['query', 'connect'],
  is: (client) => isPool(client) || 'connectionParameters' in client || isPool(Object(client.pool)),
  observe: observePg
}

function isPool (client: Client): boolean {
  return typeof client.connect === 'function' && typeof client.totalCount === 'number' && 'waitingCount' in client
}

function observePg (client: Client): void {
  const pool = [client, Object(client.pool) as Client].find(isPool)
  // As it was before it is wrapped.
  const connect = pool?.connect as Connect | undefined
  const run = connect && runStatements({
    open: () => connect.call(pool),
    send: async (connection, statement) => (await connection.query(statement)).rows,
    close: (connection) => connection.release(true)
  })
  // The methods of the decorator are those of its pool, bound to it.
  for (const object of new Set([client, pool ?? client])) {
    if (states.has(object)) continue
    observeQueries(object, run)
    if (pool !== undefined) observeConnect(object, pool as never, run)
  }
}

/** How the application waited for this client of a pool, until its first query; see `Query`. */
interface ClientState { wait?: number | undefined, exhausted?: number | undefined }

/** The states of pools and of their clients, which are the same again and again. */
const states = new WeakMap<object, ClientState>()

function observeConnect (pool: object, counted: Counts, run?: Run): void {
  wrapMethod(pool, 'connect', (self, args, original) => {
    const query = runningQuery()
    const start = performance.now()
    const { idleCount, waitingCount, totalCount, options } = counted
    let exhausted: number | undefined
    if (idleCount <= waitingCount && totalCount >= options.max) exhausted = totalCount
    const receive = (client: object): undefined => {
      const state = observeQueries(client, run)
      if (query === null) Object.assign(state, { wait: performance.now() - start, exhausted })
      else endWait(query, exhausted)
    }
    const callback: unknown = args[0]
    if (typeof callback !== 'function') {
      return callAsync(null, () => original.apply(self, args) as Promise<object>, receive)
    }
    return callBack(null, args, (all) => original.apply(self, all), receive, query)
  })
}

/** Replaces the method that sends queries, once. */
function observeQueries (client: object, run?: Run): ClientState {
  const known = states.get(client)
  if (known !== undefined) return known
  const state: ClientState = {}
  states.set(client, state)
  wrapMethod(client, 'query', (self: object, args, original) => {
    const query = begin(args, run)
    // What a pool sends for its own query.
    if (query === null && runningQuery() !== null) return original.apply(self, args) as unknown
    if (query !== null) {
      query.connection = isPool(Object(self) as Client) ? run : self
      query.client = run ?? state
      Object.assign(query, state)
      state.wait = state.exhausted = undefined
    }
    if (typeof args.at(-1) === 'function') return callBack(query, args, (all) => original.apply(self, all), rowsOf)
    const [config] = args as [{ submit?: unknown } | undefined]
    if (typeof config?.submit !== 'function') {
      return callAsync(query, () => original.apply(self, args) as Promise<Result>, rowsOf)
    }
    // A cursor or a stream ends when it was read or closed: pg calls these methods of what is submitted to it.
    for (const name of query === null ? [] : ['handleReadyForQuery', 'handleError']) {
      wrapMethod(config, name, (self, args, original) => {
        const result = original.apply(self, args) as unknown
        endQuery(query, name === 'handleError' ? { error: args[0] } : {})
        return result
      })
    }
    return withinQuery(query, () => original.apply(self, args) as unknown)
  })
  return state
}

interface Config { text?: string, values?: unknown, cursor?: Config }

function begin (args: readonly unknown[], run: Run | undefined): Query | null {
  const [config, values] = args as [string | Config | undefined, unknown]
  const { text, values: configValues } = typeof config === 'string' ? { text: config } : config?.cursor ?? config ?? {}
  if (typeof text !== 'string') return null
  const parameters = Array.isArray(values) ? values : configValues
  return beginQuery({ system: 'postgresql', statement: text, parameters, run })
}

function rowsOf (result: Result | Result[]): number | null | undefined {
  if (Array.isArray(result)) return result.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)
  return result.rowCount
}
