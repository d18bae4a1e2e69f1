import { knexKind } from './clients/knex.js'
import { mongoKind } from './clients/mongodb.js'
import { mysql2Kind } from './clients/mysql2.js'
import { pgKind } from './clients/pg.js'
import { postgresJsKind } from './clients/postgres-js.js'
import { prismaKind } from './clients/prisma.js'
import { sequelizeKind } from './clients/sequelize.js'
import { sqliteKind } from './clients/sqlite.js'
import { typeormKind } from './clients/typeorm.js'
import { observedKinds, queries } from './channel.js'
import { beginQuery, endQuery, type QueryEnd, type QueryStart } from './query.js'
import type { Kind } from './run.js'
import { framesHere } from './stack.js'

const KINDS: readonly Kind[] = [
  pgKind, postgresJsKind, sqliteKind, mysql2Kind, knexKind, prismaKind, typeormKind, sequelizeKind, mongoKind
]

/** Frames that are searched for the code that has sent a query of which a client reports the end only. */
const LOGGER_FRAMES = [60]

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
  const object = Object(client) as Record<string, unknown>
  const known = clients.get(object)
  if (known !== undefined) return known as T
  const kind = KINDS.find(({ methods, is }) =>
    methods.every((name) => typeof object[name] === 'function') && is?.(object) !== false)
  if (kind === undefined) {
    throw new TypeError(`observe() needs a database client: ${KINDS.map(({ name }) => name).join('; ')}. ` +
      'For another client use recordQuery().')
  }
  if (!mayRecord()) return client
  const observed = kind.observe(client) ?? client
  observedKinds.add(kind.name)
  for (const each of [client, observed]) clients.set(each, observed)
  return observed as T
}

function mayRecord (): boolean {
  const { NODE_ENV, PROFILER = '' } = process.env
  if (queries.hasSubscribers || NODE_ENV !== 'production') return true
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
  return function ended (end) {
    // A logger, which the client calls in the end: the code that has sent the query is farther.
    if (query !== null && end?.duration !== undefined) query.frames = framesHere(ended, LOGGER_FRAMES) ?? null
    endQuery(query, end)
  }
}
