import { channel } from 'node:diagnostics_channel'
import { isKnex, observeKnex } from './clients/knex.js'
import { isMongo, observeMongo } from './clients/mongodb.js'
import { isMysql2, observeMysql2 } from './clients/mysql2.js'
import { isPg, observePg } from './clients/pg.js'
import { isPostgresJs, observePostgresJs } from './clients/postgres-js.js'
import { isPrisma, observePrisma } from './clients/prisma.js'
import { isSequelize, observeSequelize } from './clients/sequelize.js'
import { isSqlite, observeSqlite } from './clients/sqlite.js'
import { isTypeorm, observeTypeorm } from './clients/typeorm.js'
import { QUERY_CHANNEL } from './channel.js'
import { beginQuery, endQuery, type QueryEnd, type QueryStart } from './query.js'

interface Kind {
  /** The name in messages. */
  name: string
  is: (client: Record<string, unknown>) => boolean
  /** Replaces methods of the client; returns an object only where the observed one is another. */
  observe: (client: any) => object | void
}

const KINDS: readonly Kind[] = [
  { name: 'Pool or Client of pg, decorator of @fastify/postgres', is: isPg, observe: observePg },
  { name: 'sql of postgres', is: isPostgresJs, observe: observePostgresJs },
  {
    name: 'DatabaseSync of node:sqlite or @photostructure/sqlite, Database of better-sqlite3',
    is: isSqlite,
    observe: observeSqlite
  },
  { name: 'Pool of mysql2', is: isMysql2, observe: observeMysql2 },
  { name: 'instance of knex', is: isKnex, observe: observeKnex },
  { name: 'PrismaClient', is: isPrisma, observe: observePrisma },
  { name: 'DataSource of typeorm', is: isTypeorm, observe: observeTypeorm },
  { name: 'instance of sequelize', is: isSequelize, observe: observeSequelize },
  { name: 'MongoClient of mongodb', is: isMongo, observe: observeMongo }
]

const kClients = Symbol.for('fastify-hindsight.clients')

/** What `observe` has returned for each client, in all copies of this package. */
const clients = (globalThis as { [kClients]?: WeakMap<object, object> })[kClients] ??= new WeakMap()

/**
 * Observes a database client: its queries are recorded in the profiles of the requests that send them. Methods of this
 * object are replaced, and of connections and statements that it makes; no prototype and no module is changed.
 *
 * Returns the client; of Prisma, the extended one, and of postgres.js a proxy of `sql`. In production it returns the
 * client untouched, unless profiles are recorded there: `PROFILER` is set, or the application was registered before.
 * Throws a TypeError for anything that is no client.
 *
 * @example export const pool = observe(new pg.Pool({ connectionString }))
 */
export function observe<T extends object> (client: T): T {
  const candidate: unknown = client
  const isObject = (typeof candidate === 'object' || typeof candidate === 'function') && candidate !== null
  const known = isObject ? clients.get(candidate) : undefined
  if (known !== undefined) return known as T
  const kind = isObject ? KINDS.find(({ is }) => is(candidate as Record<string, unknown>)) : undefined
  if (kind === undefined) {
    throw new TypeError(`observe() needs a database client: ${KINDS.map(({ name }) => name).join('; ')}. ` +
      'For another client use recordQuery().')
  }
  if (!mayRecord()) return client
  const observed = kind.observe(client) ?? client
  for (const each of [client, observed]) clients.set(each, observed)
  return observed as T
}

function mayRecord (): boolean {
  const { NODE_ENV, PROFILER = '' } = process.env
  if (channel(QUERY_CHANNEL).hasSubscribers || NODE_ENV !== 'production') return true
  return PROFILER !== '' && PROFILER !== 'off'
}

/**
 * Records a query of a client that `observe` does not accept. Call it when the query is sent; call the function that it
 * returns when the query has ended, with `rows` or `error`.
 *
 * @example
 * const end = recordQuery({ system: 'clickhouse', statement, parameters })
 * client.query(statement, parameters).then(({ rows }) => end({ rows: rows.length }), (error) => end({ error }))
 */
export function recordQuery ({ system, statement, parameters }: QueryStart): (end?: QueryEnd) => void {
  if (typeof system !== 'string' || typeof statement !== 'string') {
    throw new TypeError('recordQuery() needs `system` and `statement`, two texts')
  }
  const query = beginQuery({ system, statement, parameters })
  return (end) => endQuery(query, end)
}
