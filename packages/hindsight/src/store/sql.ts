import { setImmediate as nextTurn } from 'node:timers/promises'
import { parsedJson } from '../call.js'
import type { Profile, ProfileSummary } from './profile.js'
import { columnsOf, conditionsOf, valuesIn, type Condition, type Criteria } from './criteria.js'
import { DEFAULT_BOUNDS, emptyTotals, groupToEvict, mayPin, rangeOf, sumOf, TooManyPinnedError } from './storage.js'
import type {
  Awaitable, ProfilePage, ProfileStorage, SearchOptions, StorageBounds, StorageStats, Totals
} from './storage.js'
import type { ProfileRecord } from './summary.js'

export type Value = string | number | null
export type Row = Record<string, Value>
/** Runs a statement whose parameters are written as `?`. */
export type SqlQuery = (sql: string, values?: readonly Value[]) => Awaitable<Row[]>

/** A database with the tables `profiles`, `profile_totals` and `form_secret`, and the parts of its SQL that differ. */
export interface SqlDatabase {
  readonly engine: string
  /** Where it is, without a password; for people. */
  readonly place: string
  /** The prefix of each table's name. */
  readonly schema: string
  /** The operator `like` that ignores case. */
  readonly like: string
  /** The expression of the number after a text of a column; null where there is none. */
  readonly numberIn: (column: string, text: string) => string
  /** Profiles that one statement stores. */
  readonly rowsPerInsert: number
  read: <T>(work: (query: SqlQuery) => Promise<T>) => Promise<T>
  /** Works in one transaction; all that write to the store do so one after the other. */
  write: <T>(work: (query: SqlQuery) => Promise<T>) => Promise<T>
  close: () => Promise<void>
}

/** Profiles that one step of an eviction or a purge removes, and the steps of one eviction. */
const STEP = 300
const MAX_STEPS = 3
const SUMMARY =
  'seq, token, time, method, url, status, ip, duration, error, route, exception, exceptions, warnings, parent, pinned'

/** The profiles that the indexes of these columns have: a database reads one for a search that names its condition. */
const INDEXED = { status: 'status >= 300', duration: 'duration >= 100' }

/** The condition of the index that has all profiles for which a comparison holds; null without one. */
function indexCondition ([column, operator, value]: Condition): string | null {
  // Each has a time: SQLite does not read an index of all profiles in place of the table.
  if (column === 'time') return "time > ''"
  if (operator !== '>=') return null
  if (column === 'status' && Number(value) >= 300) return INDEXED.status
  if (column === 'duration' && Number(value) >= 100) return INDEXED.duration
  return null
}

/** Stores profiles in a database, in the SQL that SQLite and PostgreSQL have in common. */
export class SqlStorage implements ProfileStorage {
  readonly #database: SqlDatabase
  readonly #bounds: StorageBounds
  readonly #profiles: string
  readonly #totals: string

  constructor (database: SqlDatabase, bounds: Partial<StorageBounds>) {
    this.#database = database
    this.#bounds = { ...DEFAULT_BOUNDS, ...bounds }
    this.#profiles = `${database.schema}profiles`
    this.#totals = `select * from ${database.schema}profile_totals`
  }

  async put (records: readonly ProfileRecord[]): Promise<void> {
    // Only the last record of each token: one statement cannot store two.
    const places = new Map(records.map(({ summary }, place) => [summary.token, place]))
    const last = records.filter(({ summary }, place) => places.get(summary.token) === place)
      .filter(({ json }) => Buffer.byteLength(json) <= this.#bounds.maxBytes)
    const step = this.#database.rowsPerInsert
    await this.#database.write(async (query) => {
      const rows: StoredRow[] = []
      for (const record of last) {
        const row = rowOf(record)
        if (record.keepsPlace !== true || !await this.#update(query, row)) rows.push(row)
      }
      for (let i = 0; i < rows.length; i += step) await this.#insert(query, rows.slice(i, i + step))
      await this.#evict(query)
    })
  }

  async get (token: string): Promise<Profile | undefined> {
    const sql = `select json from ${this.#profiles} where token = ?`
    const [row] = await this.#database.read(async (query) => await query(sql, [token]))
    // Undefined, too, for damage within a text, which the database does not detect.
    return row && parsedJson(String(row.json)) as Profile | undefined
  }

  async search (options: SearchOptions): Promise<ProfilePage> {
    const { criteria = {}, limit } = options
    return await this.#database.read(async (query) => {
      const head = await this.#head(query)
      const { seq, column, isDescending, mayContinue } = rangeOf(options, head)
      const { conditions, values } = this.#where(criteria)
      conditions.push('seq > ?', 'seq < ?')
      values.push(...seq)
      const direction = isDescending ? 'desc' : 'asc'
      const order = `order by ${column === 'seq' ? '' : `${column} ${direction}, `}seq ${direction}`
      const select = async (all: readonly string[]): Promise<Row[]> => {
        const sql = `select ${SUMMARY} from ${this.#profiles} where ${all.join(' and ')} ${order} limit ?`
        return await query(sql, [...values, limit + 1])
      }
      let found: Row[] = []
      // Those of the index are the first in this order, and mostly fill the page.
      if (isDescending && column !== 'seq') found = await select([...conditions, INDEXED[column]])
      if (found.length <= limit) found = await select(conditions)
      const page = found.slice(0, limit)
      const next = mayContinue && found.length > limit ? String(page.at(-1)?.seq) : null
      return { profiles: page.map(summaryOf), next, head: String(head) }
    })
  }

  async pin (token: string, pinned: boolean): Promise<boolean> {
    return await this.#database.write(async (query) => {
      const [row] = await query(`select pinned, bytes from ${this.#profiles} where token = ?`, [token])
      if (row === undefined || (row.pinned === 1) === pinned) return row !== undefined
      const totals = totalsOf(await query(this.#totals))
      if (pinned && !mayPin(totals, Number(row.bytes), this.#bounds)) throw new TooManyPinnedError(token)
      await query(`update ${this.#profiles} set pinned = ? where token = ?`, [pinned ? 1 : 0, token])
      return true
    })
  }

  async purge (criteria: Criteria = {}): Promise<number> {
    const { conditions, values } = this.#where(criteria)
    // Profiles that are stored during the purge are kept.
    conditions.push('pinned = 0', 'seq <= ?')
    values.push(await this.#database.read(async (query) => await this.#head(query)))
    const step = `select seq from ${this.#profiles} where ${conditions.join(' and ')} order by seq limit ${STEP}`
    const sql = `delete from ${this.#profiles} where seq in (${step}) returning seq`
    for (let purged = 0; ;) {
      const removed = await this.#database.write(async (query) => await query(sql, values))
      purged += removed.length
      if (removed.length < STEP) return purged
      // Others may read and write between two steps.
      await nextTurn()
    }
  }

  async stats (): Promise<StorageStats> {
    const { engine, place } = this.#database
    const rows = await this.#database.read(async (query) => await query(this.#totals))
    const totals = totalsOf(rows)
    const failures = rows.reduce((sum, { error, profiles }) => sum + Number(error) * Number(profiles), 0)
    return { engine, place, ...sumOf(totals), failures, pinned: totals.pinned.profiles, ...this.#bounds }
  }

  async secret (): Promise<string> {
    const sql = `select secret from ${this.#database.schema}form_secret`
    const [row] = await this.#database.read(async (query) => await query(sql))
    if (row === undefined) throw new Error('The store has no secret of forms')
    return String(row.secret)
  }

  async close (): Promise<void> {
    await this.#database.close()
  }

  /** Changes a stored profile, which keeps its place; false: there is none. */
  async #update (query: SqlQuery, { token, ...row }: StoredRow): Promise<boolean> {
    // The totals are counted where `pinned` is set.
    const columns = [...Object.keys(row).map((column) => `${column} = ?`), 'pinned = pinned'].join()
    const sql = `update ${this.#profiles} set ${columns} where token = ? and time = ? returning token`
    return (await query(sql, [...Object.values(row), token, row.time])).length > 0
  }

  /** Stores profiles in place of those with the same tokens, but for pinned ones of another time. */
  async #insert (query: SqlQuery, rows: readonly StoredRow[]): Promise<void> {
    const [first] = rows
    if (first === undefined) return
    const tokens = rows.map(({ token }) => token)
    const isReplaced = `pinned = 0 or (token, time) in (values ${listOf(rows, '(?, ?)')})`
    const replaced = `delete from ${this.#profiles} where token in (${listOf(rows, '?')}) and (${isReplaced})`
    const requests = rows.flatMap(({ token, time }) => [token, time])
    const removed = await query(`${replaced} returning token, pinned`, [...tokens, ...requests])
    const columns = Object.keys(first)
    const values = listOf(rows, `(${listOf(columns, '?')})`)
    const insert = `insert into ${this.#profiles} (${columns.join()}) values ${values} on conflict (token) do nothing`
    await query(insert, rows.flatMap((row) => Object.values(row)))
    for (const { token = '', pinned } of removed) {
      if (pinned === 1) await query(`update ${this.#profiles} set pinned = 1 where token = ?`, [token])
    }
  }

  /** Removes the oldest profiles above the bounds; the rest of very many with the next call. */
  async #evict (query: SqlQuery): Promise<void> {
    const totals = totalsOf(await query(this.#totals))
    for (let step = 0; step < MAX_STEPS; step++) {
      const group = groupToEvict(totals, this.#bounds)
      if (group === null) return
      const error = group === 'failure' ? 1 : 0
      const ofGroup = `from ${this.#profiles} where pinned = 0 and error = ?`
      const oldest = await query(`select seq, bytes ${ofGroup} order by seq limit ${STEP}`, [error])
      let last = 0
      for (const { seq, bytes } of oldest) {
        if (groupToEvict(totals, this.#bounds) !== group) break
        totals[group].profiles--
        totals[group].bytes -= Number(bytes)
        last = Number(seq)
      }
      await query(`delete ${ofGroup} and seq <= ?`, [error, last])
    }
  }

  #where (criteria: Criteria): { conditions: string[], values: Value[] } {
    const { like, numberIn } = this.#database
    const [conditions, values]: [string[], Value[]] = [[], []]
    const add = (condition: string, ...compared: Value[]): void => {
      conditions.push(condition)
      values.push(...compared)
    }
    for (const condition of conditionsOf(criteria)) {
      const [column, operator, value, number] = condition
      const text = String(value).replace(/[!%_]/g, '!$&')
      const isLike = `${column} ${like} ? escape '!'`
      if (number !== undefined) add(`${numberIn(column, `\n${number}=`)} ${operator} ?`, value)
      else if (operator === 'contains') add(isLike, `%${text}%`)
      else if (operator === 'matches') add(isLike, text.replaceAll('*', '%'))
      else if (operator === 'mentions') {
        add(`(${isLike} or (${isLike} and ${column} not like ?))`, `%${text}%\n\n%`, `%${text}%`, '%\n\n%')
      } else {
        add(`${column} ${operator} ?`, value)
        const indexed = indexCondition(condition)
        if (indexed !== null) add(indexed)
      }
    }
    for (const excluded of (criteria.not ?? []).map((one) => this.#where(one))) {
      // A column may be null.
      add(`(${excluded.conditions.join(' and ')}) is not true`, ...excluded.values)
    }
    return { conditions, values }
  }

  async #head (query: SqlQuery): Promise<number> {
    const [row] = await query(`select max(seq) as head from ${this.#profiles}`)
    return Number(row?.head ?? 0)
  }
}

function totalsOf (rows: readonly Row[]): Totals {
  const totals = emptyTotals()
  for (const { pinned, error, profiles, bytes } of rows) {
    let group: keyof Totals = error === 1 ? 'failure' : 'success'
    if (pinned === 1) group = 'pinned'
    const amount = totals[group]
    amount.profiles += Number(profiles)
    amount.bytes += Number(bytes)
  }
  return totals
}

function listOf (items: readonly unknown[], each: string): string {
  return items.map(() => each).join()
}

type StoredRow = ReturnType<typeof rowOf>

function rowOf (record: ProfileRecord) {
  const { summary: { exception, warnings }, json } = record
  return { ...columnsOf(record), exception, warnings, bytes: Buffer.byteLength(json), json }
}

// Both databases end a text at NUL or refuse it.
export function withoutNul (value: Value): Value {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value
}

function summaryOf ({ seq, error, pinned, exceptions, ...columns }: Row): ProfileSummary {
  const values = valuesIn(String(exceptions))
  const summary = { ...columns, error: error === 1, pinned: pinned === 1, ...values !== undefined && { values } }
  return summary as unknown as ProfileSummary
}
