import pg from 'pg'

/** Milliseconds after which a server that does not answer is unavailable. */
const TIMEOUT = 3_000
/** The advisory lock of processes that create tables. */
const CREATE_LOCK = 0x48696E65

/** Connections to a server; the first query connects. */
export function openPool (connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({
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

/** Creates tables of the schema `hindsight` where the first of them is missing; one process at a time does so. */
export async function createTables (pool: pg.Pool, first: string, sql: string): Promise<void> {
  await withClient(pool, async (client) => {
    const isThere = async (): Promise<boolean> => {
      const { rows: [row] } = await client.query<{ found: string | null }>('select to_regclass($1) as found', [first])
      return row?.found !== null
    }
    // A role that may only use them cannot create a schema.
    if (await isThere()) return
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock($1)', [CREATE_LOCK])
    await client.query('create schema if not exists hindsight')
    if (!await isThere()) await client.query(sql)
    await client.query('commit')
  })
}
