import type pg from 'pg'
import { require } from './require.js'

/** Milliseconds after which a server that does not answer is unavailable. */
const TIMEOUT = 3_000
/** The advisory lock of processes that create tables. */
const CREATE_LOCK = 0x48696E65
const INSUFFICIENT_PRIVILEGE = '42501'
/** The tables, indexes and triggers that SQL creates. */
const CREATED = /^create (?:or replace |unique )?(?:table|index|trigger) (?:if not exists )?(?:hindsight\.)?(\w+)/gm
const COUNT = `select count(*) from (
  select relname from pg_class where relnamespace = to_regnamespace('hindsight')
  union select tgname from pg_trigger join pg_class c on c.oid = tgrelid
  where relnamespace = to_regnamespace('hindsight') and tgenabled <> 'D'
) names where relname = any($1)`

export function openPool (connectionString: string, max: number): pg.Pool {
  const { Pool } = require('pg') as typeof pg
  const pool = new Pool({
    connectionString,
    max,
    application_name: 'hindsight',
    keepAlive: true,
    allowExitOnIdle: true,
    connectionTimeoutMillis: TIMEOUT,
    query_timeout: TIMEOUT,
    // The server cancels the work of a client that has stopped waiting.
    statement_timeout: TIMEOUT,
    idle_in_transaction_session_timeout: 2 * TIMEOUT
  })
  // Errors of idle connections; an error of any other rejects its query.
  pool.on('error', () => {})
  return pool
}

/** Calls `work` with a connection. If it rejects, the connection is closed and its transaction is rolled back. */
export async function withClient<T> (pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let failure: Error | undefined
  const onError = (error: Error): void => { failure = error }
  client.on('error', onError)
  try {
    return await work(client)
  } catch (error) {
    failure = error as Error
    throw error
  } finally {
    client.off('error', onError)
    client.release(failure)
  }
}

/**
 * Executes SQL that creates what is missing in the schema `hindsight`, if a table, an index or a trigger that it names
 * is missing, or with `always`; one process at a time does so.
 */
export async function createTables (pool: pg.Pool, sql: string, always = false): Promise<void> {
  const names = Array.from(sql.matchAll(CREATED), ([, name]) => name)
  await withClient(pool, async (client) => {
    const has = async (wanted: typeof names): Promise<boolean> => {
      const { rows: [row] } = await client.query<{ count: string }>(COUNT, [wanted])
      return Number(row?.count) === wanted.length
    }
    if (!always && await has(names)) return
    await client.query('begin')
    try {
      await client.query('select pg_advisory_xact_lock($1)', [CREATE_LOCK])
      await client.query('create schema if not exists hindsight')
      if (always || !await has(names)) await client.query(sql)
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      // A role that may only use tables cannot create what a later version adds.
      if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE || !await has(names.slice(0, 1))) throw error
    }
  })
}
