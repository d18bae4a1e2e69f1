import type { Profile } from '../profile.js'
import { columnsOf, conditionsOf, type Criteria } from './criteria.js'
import { emptyTotals, groupToEvict, mayPin, sumOf, type Totals } from './retention.js'
import { cursorOf, DEFAULT_BOUNDS, rangeOf, TooManyPinnedError } from './storage.js'
import type {
  Awaitable, PageRange, ProfilePage, ProfileStorage, PurgeOptions, SearchOptions, StorageBounds, StorageStats
} from './storage.js'
import type { ProfileRecord, ProfileSummary } from '../summary.js'

export type Value = string | number | null
export type Row = Record<string, Value>
/** Runs a statement whose parameters are written as `?`. */
export type Query = (sql: string, values?: readonly Value[]) => Awaitable<Row[]>

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
  read: <T>(work: (query: Query) => Promise<T>) => Promise<T>
  /** Works in one transaction; all that write to the store do so one after the other. */
  write: <T>(work: (query: Query) => Promise<T>) => Promise<T>
  /** Between two transactions: others may read and write. */
  pause: () => Promise<void>
  close: () => Promise<void>
}

interface Find {
  columns: string
  criteria: Criteria
  range: PageRange
  limit: number
  onlyUnpinned?: boolean
}

/** Profiles that one statement stores, and that one transaction removes. */
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
    // Of each token the last one; a statement cannot store two.
    const places = new Map(records.map(({ summary }, place) => [summary.token, place]))
    const latest = records.filter(({ summary }, place) => places.get(summary.token) === place)
    await this.#writeAndEvict(async (query) => {
      const { maxBytes } = await this.#boundsOf(query, true)
      const profiles = latest.map(insertedOf).filter(({ row }) => row.bytes <= maxBytes)
      for (let i = 0; i < profiles.length; i += STEP) await this.#insert(query, profiles.slice(i, i + STEP))
    })
  }

  async get (token: string): Promise<Profile | undefined> {
    const sql = `select json from ${this.#requests} join ${this.#database.schema}bodies using (seq) where token = ?`
    const [row] = await this.#database.read(async (query) => await query(sql, [withoutNul(token)]))
    try {
      return row && JSON.parse(String(row.json)) as Profile
    } catch {
      // Damage within a text, which the database does not detect.
      return undefined
    }
  }

  async search (options: SearchOptions): Promise<ProfilePage> {
    const { criteria = {}, limit } = options
    return await this.#database.read(async (query) => {
      const head = await this.#head(query)
      const range = rangeOf(options, head)
      const found = await this.#find(query, { columns: COLUMNS, criteria, range, limit: limit + 1 })
      const page = found.slice(0, limit)
      const last = page.at(-1) as Row & Record<'seq' | 'duration' | 'status', number>
      const next = found.length > limit ? cursorOf(range, last) : null
      return { profiles: page.map(summaryOf), next, head: String(head) }
    })
  }

  async pin (token: string, pinned: boolean): Promise<boolean> {
    return await this.#writeAndEvict(async (query) => {
      const sql = `select pinned, bytes from ${this.#requests} where token = ?`
      const [row] = await query(sql, [withoutNul(token)])
      if (row === undefined || (row.pinned === 1) === pinned) return row !== undefined
      const [totals, bounds] = [await this.#totals(query), await this.#boundsOf(query)]
      if (pinned && !mayPin(totals, Number(row.bytes), bounds)) throw new TooManyPinnedError(token)
      await query(`update ${this.#requests} set pinned = ? where token = ?`, [pinned ? 1 : 0, token])
      return true
    })
  }

  async purge (criteria: Criteria = {}, { pinned = false }: PurgeOptions = {}): Promise<number> {
    const head = await this.#database.read(async (query) => await this.#head(query))
    let purged = 0
    for (let before = head + 1; ;) {
      const found = await this.#database.write(async (query) => {
        const range: PageRange = { seq: [0, before], column: 'seq', isDescending: true }
        const rows = await this.#find(query, { columns: 'seq', criteria, range, limit: STEP, onlyUnpinned: !pinned })
        await this.#delete(query, rows)
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
    return await this.#database.read(async (query) => {
      const totals = await this.#totals(query)
      const sql = `select sum(profiles) as failures from ${this.#database.schema}totals where failure = 1`
      const [row] = await query(sql)
      const counts = { ...sumOf(totals), failures: Number(row?.failures), pinned: totals.pinned.profiles }
      return { engine, place, ...counts, ...await this.#boundsOf(query) }
    })
  }

  async close (): Promise<void> {
    await this.#database.close()
  }

  // Small transactions, so that no other reader or writer waits for long.
  async #writeAndEvict<T> (work: (query: Query) => Promise<T>): Promise<T> {
    let [result, isDone] = await this.#database.write(async (query) => {
      return [await work(query), await this.#evict(query)]
    })
    while (!isDone) {
      await this.#database.pause()
      isDone = await this.#database.write(async (query) => await this.#evict(query))
    }
    return result
  }

  /** Stores profiles in place of those with the same tokens, but for pinned ones of another time. */
  async #insert (query: Query, given: readonly Inserted[]): Promise<void> {
    const times = new Map(given.map(({ row: { token, time } }) => [token, time]))
    const known = `select seq, token, time, pinned from ${this.#requests} where token in (${listOf(given, '?')})`
    const rows = await query(known, [...times.keys()])
    const isReplaced = ({ token, time, pinned }: Row): boolean => pinned === 0 || times.get(String(token)) === time
    const kept = new Set(rows.filter((row) => !isReplaced(row)).map(({ token }) => token))
    await this.#delete(query, rows.filter(isReplaced))
    const profiles = given.filter(({ row: { token } }) => !kept.has(token))
    const [first] = profiles
    if (first === undefined) return
    const columns = Object.keys(first.row)
    const values = listOf(profiles, `(${listOf(columns, '?')})`)
    const insert = `insert into ${this.#requests} (${columns.join()}) values ${values} returning seq, token`
    const inserted = await query(insert, profiles.flatMap(({ row }) => Object.values(row)))
    const seqs = new Map(inserted.map(({ seq, token }) => [token, Number(seq)]))
    const bodies = profiles.flatMap(({ row, json }) => [seqs.get(row.token) ?? null, json])
    await query(`insert into ${this.#database.schema}bodies values ${listOf(profiles, '(?, ?)')}`, bodies)
  }

  async #delete (query: Query, rows: readonly Row[]): Promise<void> {
    const seqs = rows.map(({ seq }) => Number(seq))
    if (seqs.length > 0) await query(`delete from ${this.#requests} where seq in (${listOf(seqs, '?')})`, seqs)
  }

  /** Removes the oldest profiles of one group, at most `STEP`; false: there may be more to remove. */
  async #evict (query: Query): Promise<boolean> {
    const [totals, bounds] = [await this.#totals(query), await this.#boundsOf(query)]
    const group = groupToEvict(totals, bounds)
    if (group === null) return true
    const failure = group === 'failure' ? 1 : 0
    const ofGroup = `from ${this.#requests} where pinned = 0 and failure = ?`
    const oldest = await query(`select seq, bytes ${ofGroup} order by seq limit ?`, [failure, STEP])
    let last: number | null = null
    for (const { seq, bytes } of oldest) {
      if (groupToEvict(totals, bounds) !== group) break
      totals[group].profiles--
      totals[group].bytes -= Number(bytes)
      last = Number(seq)
    }
    if (last === null) return true
    await query(`delete ${ofGroup} and seq <= ?`, [failure, last])
    return groupToEvict(totals, bounds) === null
  }

  /** Rows that match, in the order of the range. */
  async #find (query: Query, { columns, criteria, range, limit, onlyUnpinned = false }: Find): Promise<Row[]> {
    const { seq, column: first, isDescending, last } = range
    const [conditions, values]: [string[], Value[]] = [['seq > ?', 'seq < ?'], [...seq]]
    if (last !== undefined) {
      conditions.push(`(${first}, seq) ${isDescending ? '<' : '>'} (?, ?)`)
      values.push(...last)
    }
    if (onlyUnpinned) conditions.push('pinned = 0')
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
    const direction = isDescending ? 'desc' : 'asc'
    const order = [...new Set([first, 'seq'])].map((column) => `${column} ${direction}`).join()
    const sql = `select ${columns} from ${this.#requests} where ${where} order by ${order} limit ?`
    return await query(sql, [...values, limit])
  }

  /** The highest `seq` that was used. */
  async #head (query: Query): Promise<number> {
    const [row] = await query(`select value from ${this.#database.schema}settings where name = 'head'`)
    if (Number.isSafeInteger(row?.value)) return Number(row?.value)
    throw new Error('the settings are malformed')
  }

  async #totals (query: Query): Promise<Totals> {
    const totals = emptyTotals()
    for (const { pinned, failure, profiles, bytes } of await query(`select * from ${this.#database.schema}totals`)) {
      const amount = totals[pinned === 1 ? 'pinned' : failure === 1 ? 'failure' : 'success']
      amount.profiles += Number(profiles)
      amount.bytes += Number(bytes)
    }
    return totals
  }

  /** The bounds that are given; for missing ones, those of the process that wrote last. */
  async #boundsOf (query: Query, isWriter = false): Promise<StorageBounds> {
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

function listOf (items: readonly unknown[], each: string): string {
  return items.map(() => each).join()
}

/** The columns of a profile in the table `requests`, and its JSON in `bodies`. */
type Inserted = ReturnType<typeof insertedOf>

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
