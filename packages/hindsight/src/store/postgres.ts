import { withoutNul, type SqlQuery, type Row, type SqlDatabase } from './sql.js'
import { StorageClosedError, StorageUnusableError } from './storage.js'
import { createTables, openPool, withClient } from '../postgres.js'
import { readText } from '../require.js'

/** The advisory lock of writers: one at a time, so that the order of `seq` is that of the commits. */
const WRITE_LOCK = 0x48696E64
const MAX_CONNECTIONS = 4
/** Codes of an undefined column, table, constraint or schema (Appendix A of the manual). */
const MISSING = /^(?:42703|42P01|42P10|3F000)$/
const TABLES = readText(import.meta.url, './postgres.sql')

/** A database of PostgreSQL, for services on several machines: each reads what any of them wrote. */
export class PostgresDatabase implements SqlDatabase {
  readonly engine = 'postgres'
  readonly place: string
  readonly schema = 'hindsight.'
  readonly like = 'ilike'
  readonly numberIn = (column: string, text: string): string =>
    `cast(substring(${column} from '${text}(\\d+)') as numeric)`

  readonly rowsPerInsert = 300
  readonly #pool: ReturnType<typeof openPool>
  #preparing: Promise<void> | null = null
  /** Whether a table or column was missing after the tables had been created. */
  #isIncomplete = false
  #closing: Promise<void> | null = null

  /** `url`: as `postgres://user:password@host:5432/database`. */
  constructor (url: string) {
    const { protocol, host, pathname } = new URL(url)
    this.place = `${protocol}//${host}${pathname}`
    this.#pool = openPool(url, MAX_CONNECTIONS)
  }

  close = async (): Promise<void> => await (this.#closing ??= this.#pool.end())

  async read<T> (work: (query: SqlQuery) => Promise<T>): Promise<T> {
    for (let isRepaired = false; ; isRepaired = true) {
      if (this.#closing !== null) throw new StorageClosedError(this.place)
      try {
        await (this.#preparing ??= createTables(this.#pool, TABLES, this.#isIncomplete))
        this.#isIncomplete = false
        return await withClient(this.#pool, async (client) => await work(async (sql, values = []) => {
          let number = 0
          return (await client.query<Row>(sql.replace(/\?/g, () => `$${++number}`), values.map(withoutNul))).rows
        }))
      } catch (error) {
        if (error instanceof Error && 'statusCode' in error) throw error
        const { message, code = '' } = error as NodeJS.ErrnoException
        // The next use checks the tables.
        this.#preparing = null
        this.#isIncomplete = MISSING.test(code)
        if (!this.#isIncomplete || isRepaired) throw new StorageUnusableError(this.place, message || code)
      }
    }
  }

  async write<T> (work: (query: SqlQuery) => Promise<T>): Promise<T> {
    return await this.read(async (query) => {
      await query('begin')
      await query('select pg_advisory_xact_lock(?)', [WRITE_LOCK])
      const result = await work(query)
      await query('commit')
      return result
    })
  }
}
