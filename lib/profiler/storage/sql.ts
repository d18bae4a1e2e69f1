import type { Profile } from '../profile.js'
import { columnsOf, conditionsOf, type Criteria } from './criteria.js'
import { countToEvict, emptyTotals, estimateExcess, groupToEvict, mayPin, sumOf, type Totals } from './retention.js'
import { DEFAULT_BOUNDS, InvalidCursorError, positionOf, TooManyPinnedError } from './storage.js'
import type { Awaitable, ProfilePage, ProfileStorage, SearchOptions, StorageBounds, StorageStats } from './storage.js'
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

/** A database with the tables `requests`, `bodies`, `totals` and `settings`, and what differs from others in its SQL. */
export interface SqlDatabase {
  readonly engine: string
  /** Where it is, without a password; for people. */
  readonly place: string
  /** What precedes the name of each table. */
  readonly schema: string
  /** A condition: the whole of the column matches a pattern; and the pattern for a text in which `*` stands for any part. */
  matches: (column: string) => string
  pattern: (text: string) => string
  read: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  /** Works in one transaction; all that write to the store do so one after the other. */
  write: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  /** Between two transactions: others may read and write. */
  pause: () => Promise<void>
  close: () => Promise<void>
}

/** Profiles that one transaction removes. */
const STEP = 300
const COLUMNS = 'seq, token, time, method, url, status, ip, duration, failure, route, exception, warnings, parent, pinned'

/** Keeps profiles in a database, in the SQL that SQLite and PostgreSQL have in common. */
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
    const [before, since] = [cursor === undefined ? null : positionOf(cursor), after === undefined ? 0 : positionOf(after)]
    return await this.#database.read(async (connection) => {
      const head = await this.#head(connection)
      if (before !== null && before > head) throw new InvalidCursorError(cursor)
      if (since > head) throw new InvalidCursorError(after)
      const found = await this.#find(connection, COLUMNS, criteria, 'pinned >= 0', [since, before ?? head + 1], limit + 1)
      const page = found.slice(0, limit)
      return { profiles: page.map(summaryOf), next: found.length > limit ? String(page.at(-1)?.seq) : null, head: String(head) }
    })
  }

  async pin (token: string, pinned: boolean): Promise<boolean> {
    return await this.#writeAndEvict(async (connection) => {
      const [row] = await connection.query(`select pinned, bytes from ${this.#requests} where token = ?`, [withoutNul(token)])
      if (row === undefined || (row.pinned === 1) === pinned) return row !== undefined
      const isAllowed = !pinned || mayPin(await this.#totals(connection), Number(row.bytes), await this.#boundsOf(connection))
      if (!isAllowed) throw new TooManyPinnedError(token)
      await connection.query(`update ${this.#requests} set pinned = ? where token = ?`, [pinned ? 1 : 0, token])
      return true
    })
  }

  async purge (criteria: Criteria = {}, { pinned = false }: { pinned?: boolean } = {}): Promise<number> {
    const head = await this.#database.read(async (connection) => await this.#head(connection))
    let purged = 0
    for (let before = head + 1; ;) {
      const found = await this.#database.write(async (connection) => {
        const rows = await this.#find(connection, 'seq', criteria, pinned ? 'pinned >= 0' : 'pinned = 0', [0, before], STEP)
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
      const [row] = await connection.query(`select sum(profiles) as failures from ${this.#database.schema}totals where failure = 1`)
      const counts = { ...sumOf(totals), failures: Number(row?.failures), pinned: totals.pinned.profiles }
      return { engine, place, ...counts, ...await this.#boundsOf(connection) }
    })
  }

  async close (): Promise<void> {
    await this.#database.close()
  }

  // In small transactions, so that no other reader or writer waits for long.
  async #writeAndEvict<T> (work: (connection: Connection) => Promise<T>): Promise<T> {
    let [result, isDone] = await this.#database.write(async (connection) => [await work(connection), await this.#evict(connection)])
    while (!isDone) {
      await this.#database.pause()
      isDone = await this.#database.write(async (connection) => await this.#evict(connection))
    }
    return result
  }

  /** Removes the oldest profiles above the bounds; false: there is more to remove. */
  async #evict (connection: Connection): Promise<boolean> {
    const [totals, bounds] = [await this.#totals(connection), await this.#boundsOf(connection)]
    const inLane = `from ${this.#requests} where pinned = 0 and failure = ?`
    let group = groupToEvict(totals, bounds)
    for (let left = STEP; left > 0 && group !== null; group = groupToEvict(totals, bounds)) {
      const failure = group === 'failure' ? 1 : 0
      const sql = `select seq, bytes ${inLane} order by seq limit ?`
      const oldest = await connection.query(sql, [failure, Math.min(left, estimateExcess(totals, bounds))])
      const count = countToEvict(totals, bounds, group, oldest.map(({ bytes }) => Number(bytes)))
      if (count === 0) return true
      await connection.query(`delete ${inLane} and seq <= ?`, [failure, Number(oldest[count - 1]?.seq)])
      left -= count
    }
    return group === null
  }

  /** Rows that match, between two numbers, newest first. All values are parameters: each statement is prepared once, and kept. */
  async #find ({ query }: Connection, columns: string, criteria: Criteria, also: string, range: [number, number], limit: number): Promise<Row[]> {
    const { matches, pattern } = this.#database
    const [conditions, values]: [string[], Value[]] = [[also, 'seq > ?', 'seq < ?'], [...range]]
    for (const [column, operator, value] of conditionsOf(criteria)) {
      const searched = column === 'url_text' ? 'coalesce(url_text, url)' : column
      conditions.push(operator === 'contains' ? `${searched} like ? escape '!'` : operator === 'matches' ? matches(column) : `${column} ${operator} ?`)
      const text = withoutNul(String(value))
      values.push(operator === 'contains' ? `%${escapeLike(text)}%` : operator === 'matches' ? pattern(text) : typeof value === 'string' ? text : value)
    }
    return await query(`select ${columns} from ${this.#requests} where ${conditions.join(' and ')} order by seq desc limit ?`, [...values, limit])
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

  /** The bounds that are given, and for others those that a writer of the store was given. */
  async #boundsOf ({ query }: Connection, isWriter = false): Promise<StorageBounds> {
    const settings = `${this.#database.schema}settings`
    const stored = Object.fromEntries((await query(`select name, value from ${settings} where name <> 'head'`)).map(({ name, value }) => [name, value]))
    for (const [name, value] of Object.entries(this.#bounds)) {
      if (!isWriter || stored[name] === value) continue
      await query(`insert into ${settings} values (?, ?) on conflict (name) do update set value = excluded.value`, [name, value])
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
  const searched = { url_text: text === url ? null : withoutNul(text), exception_text: exceptions === '' ? null : withoutNul(exceptions) }
  const row = { ...columns, ...texts, ...searched, ip, warnings, bytes: Buffer.byteLength(record.json) }
  return { row, json: record.json }
}

// Both databases end a text at NUL or refuse it.
const withoutNul = (text: string): string => text.replaceAll('\0', '\uFFFD')

function summaryOf ({ seq, failure, pinned, ...columns }: Row): ProfileSummary {
  return { ...columns, error: failure === 1, pinned: pinned === 1 } as unknown as ProfileSummary
}
