import type { PoolClient } from 'pg'
import { escapeLike, type Connection, type Inserted, type Row, type SqlDatabase } from '../sql.js'
import { StorageClosedError, StorageUnusableError } from '../storage.js'
import { createTables, openPool, withClient } from '../../../postgres.js'
import { PROFILE_TABLES } from './tables.js'

/** The advisory lock of those that write: one at a time, so that the order of `seq` is that of the commits. */
const WRITE_LOCK = 0x48696E64
const MAX_CONNECTIONS = 4

/** A database of PostgreSQL, for services on several machines: each of them reads what any of them wrote. */
export class PostgresDatabase implements SqlDatabase {
  readonly engine = 'postgres'
  readonly place: string
  readonly schema = 'hindsight.'
  readonly #pool: ReturnType<typeof openPool>
  #preparing: Promise<void> | null = null
  #closing: Promise<void> | null = null

  /** `url`: as `postgres://user:password@host:5432/database`. */
  constructor (url: string) {
    const { protocol, host, pathname } = URL.canParse(url) ? new URL(url) : { protocol: '', host: '', pathname: '' }
    if (host === '' && pathname.length < 2) {
      throw new Error('profiler.storage (STORAGE_URL): this is not an address such as postgres://user:password@localhost:5432/hindsight')
    }
    this.place = `${protocol}//${host}${pathname}`
    this.#pool = openPool(url, MAX_CONNECTIONS)
  }

  matches = (column: string): string => `${column} like ? escape '!'`
  pattern = (text: string): string => escapeLike(text).replaceAll('*', '%')
  pause = async (): Promise<void> => {}
  close = async (): Promise<void> => await (this.#closing ??= this.#pool.end())

  async read<T> (work: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#closing !== null) throw new StorageClosedError(this.place)
    try {
      await (this.#preparing ??= createTables(this.#pool, 'hindsight.requests', PROFILE_TABLES))
      return await withClient(this.#pool, async (client) => await work(connectionOf(client)))
    } catch (error) {
      if (error instanceof Error && 'statusCode' in error) throw error
      // The tables may be missing: with the next use they are looked for again.
      this.#preparing = null
      const { message, code } = error as NodeJS.ErrnoException
      throw new StorageUnusableError(this.place, message || code)
    }
  }

  async write<T> (work: (connection: Connection) => Promise<T>): Promise<T> {
    return await this.read(async (connection) => {
      await connection.query('begin')
      await connection.query('select pg_advisory_xact_lock(?)', [WRITE_LOCK])
      const result = await work(connection)
      await connection.query('commit')
      return result
    })
  }
}

function connectionOf (client: PoolClient): Connection {
  const query: Connection['query'] = async (sql, values = []) => {
    let number = 0
    return (await client.query<Row>(sql.replace(/\?/g, () => `$${++number}`), [...values])).rows
  }
  return { query, insert: async (profiles) => await insert(query, profiles) }
}

// A few statements for all profiles: each waits for the network.
async function insert (query: Connection['query'], profiles: readonly Inserted[]): Promise<void> {
  if (profiles.length === 0) return
  const columns = Object.keys(profiles[0]?.row ?? {})
  const places = profiles.map(() => `(${columns.map(() => '?').join()})`)
  const keys = JSON.stringify(profiles.map(({ row: { token, time } }) => ({ token, time })))
  const given = 'json_to_recordset(?::json) as given (token text, time text) where given.token = r.token'
  await query(`delete from hindsight.requests r using ${given} and (pinned = 0 or given.time = r.time)`, [keys])
  const sql = `insert into hindsight.requests (${columns.join()}) values ${places.join()} on conflict (token) do nothing returning seq, token`
  const seqs = new Map((await query(sql, profiles.flatMap(({ row }) => Object.values(row)))).map(({ seq, token }) => [token, Number(seq)]))
  const bodies = profiles.flatMap(({ row: { token }, json }) => seqs.has(token) ? [seqs.get(token) ?? 0, json] : [])
  if (bodies.length > 0) await query(`insert into hindsight.bodies values ${Array(seqs.size).fill('(?, ?)').join()}`, bodies)
}
