import type { Profile } from '../profile.js'
import { columnsOf, conditionsOf, type Criteria } from './criteria.js'
import { emptyTotals, groupToEvict, mayPin, sumOf, type Totals } from './retention.js'
import { DEFAULT_BOUNDS, InvalidCursorError, positionOf, TooManyPinnedError } from './storage.js'
import type {
  Awaitable, ProfilePage, ProfileStorage, PurgeOptions, SearchOptions, StorageBounds, StorageStats
} from './storage.js'
import type { ProfileRecord, ProfileSummary } from '../summary.js'

export type Value = string | number | null
export type Row = Record<string, Value>
/** Runs statements whose parameters are written as `?`. */
export interface Connection {
  query: (sql: string, values?: readonly Value[]) => Awaitable<Row[]>
  /** Stores profiles in place of those with the same tokens, but for pinned ones of another time. */
  insert: (profiles: readonly Inserted[]) => Awaitable<void>
}

/** The columns of a profile in the table `requests`, and its JSON in `bodies`. */
export type Inserted = ReturnType<typeof insertedOf>

/** A database with the tables `requests`, `bodies`, `totals` and `settings`, and the parts of its SQL that differ. */
export interface SqlDatabase {
  readonly engine: string
  /** Where it is, without a password; for people. */
  readonly place: string
  /** What precedes the name of each table. */
  readonly schema: string
  /** The condition that the whole of a column matches a pattern; `pattern` makes it of a text with `*` for any part. */
  matches: (column: string) => string
  pattern: (text: string) => string
  read: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  /** Works in one transaction; all that write to the store do so one after the other. */
  write: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  /** Between two transactions: others may read and write. */
  pause: () => Promise<void>
  close: () => Promise<void>
}

type Range = [after: number, before: number]
interface Find {
  columns: string
  criteria: Criteria
  condition: string
  range: Range
  limit: number
}

/** Profiles that one transaction removes. */
const STEP = 300
const COLUMNS =
  'seq, token, time, method, url, status, ip, duration, failure, route, exception, warnings, parent, pinned'

/** Stores profiles in a database, in the SQL that SQLite and PostgreSQL have in common. */
export class SqlStorage implements ProfileStorage {
  readonly #database: SqlDatabase
  readonly #bounds: Partial<StorageBounds>
  readonly #requests: string

  constructor (database: SqlDatabase, bounds: Partial<StorageBounds>) {
    this.#database = database
    this.#bounds = bounds
    this.#requests = `${database.schema}requests`
  }

  async put (records: readonly ProfileRecord[]): Promise<void> {
    // Of each token the last one; a transaction cannot store two.
    const places = new Map(records.map(({ summary }, place) => [summary.token, place]))
    const latest = records.filter(({ summary }, place) => places.get(summary.token) === place)
    await this.#writeAndEvict(async (connection) => {
      const { maxBytes } = await this.#boundsOf(connection, true)
      await connection.insert(latest.map(insertedOf).filter(({ row }) => row.bytes <= maxBytes))
    })
  }

  async get (token: string): Promise<Profile | undefined> {
    const sql = `select json from ${this.#requests} join ${this.#database.schema}bodies using (seq) where token = ?`
    const [row] = await this.#database.read(async ({ query }) => await query(sql, [withoutNul(token)]))
    try {
      return row && JSON.parse(String(row.json)) as Profile
    } catch {
      // Damage within a text, which the database does not detect.
      return undefined
    }
  }

  async search ({ criteria = {}, limit, cursor, after }: SearchOptions): Promise<ProfilePage> {
    const before = cursor === undefined ? null : positionOf(cursor)
    const since = after === undefined ? 0 : positionOf(after)
    return await this.#database.read(async (connection) => {
      const head = await this.#head(connection)
      if (before !== null && before > head) throw new InvalidCursorError(cursor)
      if (since > head) throw new InvalidCursorError(after)
      const range: Range = [since, before ?? head + 1]
      const condition = 'pinned >= 0'
      const found = await this.#find(connection, { columns: COLUMNS, criteria, condition, range, limit: limit + 1 })
      const page = found.slice(0, limit)
      const next = found.length > limit ? String(page.at(-1)?.seq) : null
      return { profiles: page.map(summaryOf), next, head: String(head) }
    })
  }

  async pin (token: string, pinned: boolean): Promise<boolean> {
    return await this.#writeAndEvict(async (connection) => {
      const sql = `select pinned, bytes from ${this.#requests} where token = ?`
      const [row] = await connection.query(sql, [withoutNul(token)])
      if (row === undefined || (row.pinned === 1) === pinned) return row !== undefined
      const [totals, bounds] = [await this.#totals(connection), await this.#boundsOf(connection)]
      if (pinned && !mayPin(totals, Number(row.bytes), bounds)) throw new TooManyPinnedError(token)
      await connection.query(`update ${this.#requests} set pinned = ? where token = ?`, [pinned ? 1 : 0, token])
      return true
    })
  }

  async purge (criteria: Criteria = {}, { pinned = false }: PurgeOptions = {}): Promise<number> {
    const head = await this.#database.read(async (connection) => await this.#head(connection))
    let purged = 0
    for (let before = head + 1; ;) {
      const found = await this.#database.write(async (connection) => {
        const [condition, range]: [string, Range] = [pinned ? 'pinned >= 0' : 'pinned = 0', [0, before]]
        const rows = await this.#find(connection, { columns: 'seq', criteria, condition, range, limit: STEP })
        for (const { seq } of rows) await connection.query(`delete from ${this.#requests} where seq = ?`, [Number(seq)])
        return rows
      })
      purged += found.length
      if (found.length < STEP) return purged
      before = Number(found.at(-1)?.seq)
      await this.#database.pause()
    }
  }

  async stats (): Promise<StorageStats> {
    const { engine, place } = this.#database
    return await this.#database.read(async (connection) => {
      const totals = await this.#totals(connection)
      const sql = `select sum(profiles) as failures from ${this.#database.schema}totals where failure = 1`
      const [row] = await connection.query(sql)
      const counts = { ...sumOf(totals), failures: Number(row?.failures), pinned: totals.pinned.profiles }
      return { engine, place, ...counts, ...await this.#boundsOf(connection) }
    })
  }

  async close (): Promise<void> {
    await this.#database.close()
  }

  // Small transactions, so that no other reader or writer waits for long.
  async #writeAndEvict<T> (work: (connection: Connection) => Promise<T>): Promise<T> {
    let [result, isDone] = await this.#database.write(async (connection) => {
      return [await work(connection), await this.#evict(connection)]
    })
    while (!isDone) {
      await this.#database.pause()
      isDone = await this.#database.write(async (connection) => await this.#evict(connection))
    }
    return result
  }

  /** Removes the oldest profiles of one group, at most `STEP`; false: there may be more to remove. */
  async #evict (connection: Connection): Promise<boolean> {
    const [totals, bounds] = [await this.#totals(connection), await this.#boundsOf(connection)]
    const group = groupToEvict(totals, bounds)
    if (group === null) return true
    const failure = group === 'failure' ? 1 : 0
    const ofGroup = `from ${this.#requests} where pinned = 0 and failure = ?`
    const oldest = await connection.query(`select seq, bytes ${ofGroup} order by seq limit ?`, [failure, STEP])
    let last: number | null = null
    for (const { seq, bytes } of oldest) {
      if (groupToEvict(totals, bounds) !== group) break
      totals[group].profiles--
      totals[group].bytes -= Number(bytes)
      last = Number(seq)
    }
    if (last === null) return true
    await connection.query(`delete ${ofGroup} and seq <= ?`, [failure, last])
    return groupToEvict(totals, bounds) === null
  }

  /**
   * Rows that match, with a `seq` between two numbers, newest first. All values are parameters: each statement is
   * prepared once.
   */
  async #find ({ query }: Connection, { columns, criteria, condition, range, limit }: Find): Promise<Row[]> {
    const [conditions, values]: [string[], Value[]] = [[condition, 'seq > ?', 'seq < ?'], [...range]]
    for (const [column, operator, value] of conditionsOf(criteria)) {
      const text = withoutNul(String(value))
      if (operator === 'contains') {
        const searched = column === 'url_text' ? 'coalesce(url_text, url)' : column
        conditions.push(`${searched} like ? escape '!'`)
        values.push(`%${escapeLike(text)}%`)
      } else if (operator === 'matches') {
        conditions.push(this.#database.matches(column))
        values.push(this.#database.pattern(text))
      } else {
        conditions.push(`${column} ${operator} ?`)
        values.push(typeof value === 'string' ? text : value)
      }
    }
    const where = conditions.join(' and ')
    const sql = `select ${columns} from ${this.#requests} where ${where} order by seq desc limit ?`
    return await query(sql, [...values, limit])
  }

  /** The number of the newest profile that was ever stored. */
  async #head ({ query }: Connection): Promise<number> {
    const [row] = await query(`select value from ${this.#database.schema}settings where name = 'head'`)
    if (Number.isSafeInteger(row?.value)) return Number(row?.value)
    throw new Error('the settings are malformed')
  }

  async #totals ({ query }: Connection): Promise<Totals> {
    const totals = emptyTotals()
    for (const { pinned, failure, profiles, bytes } of await query(`select * from ${this.#database.schema}totals`)) {
      const amount = totals[pinned === 1 ? 'pinned' : failure === 1 ? 'failure' : 'success']
      amount.profiles += Number(profiles)
      amount.bytes += Number(bytes)
    }
    return totals
  }

  /** The bounds that are given; for missing ones, those of the process that wrote last. */
  async #boundsOf ({ query }: Connection, isWriter = false): Promise<StorageBounds> {
    const settings = `${this.#database.schema}settings`
    const rows = await query(`select name, value from ${settings} where name <> 'head'`)
    const stored = Object.fromEntries(rows.map(({ name, value }) => [name, value]))
    for (const [name, value] of Object.entries(this.#bounds)) {
      if (!isWriter || stored[name] === value) continue
      const sql = `insert into ${settings} values (?, ?) on conflict (name) do update set value = excluded.value`
      await query(sql, [name, value])
    }
    return { ...DEFAULT_BOUNDS, ...stored, ...this.#bounds }
  }
}

/** Text in which no character is special to `like … escape '!'`. */
export function escapeLike (text: string): string {
  return text.replace(/[!%_]/g, '!$&')
}

function insertedOf (record: ProfileRecord) {
  const { url, ip, exception, warnings } = record.summary
  const { url_text: text, exception_text: exceptions, ...columns } = columnsOf(record)
  const texts = { url: withoutNul(url), exception: exception && withoutNul(exception) }
  // A search reads all rows: what most have in another column is not stored twice.
  const searched = {
    url_text: text === url ? null : withoutNul(text),
    exception_text: exceptions === '' ? null : withoutNul(exceptions)
  }
  const row = { ...columns, ...texts, ...searched, ip, warnings, bytes: Buffer.byteLength(record.json) }
  return { row, json: record.json }
}

// Both databases end a text at NUL or refuse it.
const withoutNul = (text: string): string => text.replaceAll('\0', '\uFFFD')

function summaryOf ({ seq, failure, pinned, ...columns }: Row): ProfileSummary {
  return { ...columns, error: failure === 1, pinned: pinned === 1 } as unknown as ProfileSummary
}
