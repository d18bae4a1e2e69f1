import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { workerData } from 'node:worker_threads'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { attemptCall } from '../../call.js'
import { readText, require } from '../../require.js'
import { withoutNul, type SqlQuery, type Row, type SqlDatabase } from '../sql.js'
import { StorageUnusableError } from '../storage.js'
import { checkWritable, findLibrary, IN_MEMORY } from './availability.js'

export const SCHEMA_VERSION = 2
const SCHEMA = readText(import.meta.url, './schema.sql')
const NAMES = Array.from(SCHEMA.matchAll(/^create \w+ if not exists (\w+)/gm), ([, name]) => `'${name}'`)

/** Pages (4 KiB) in the write-ahead log before a checkpoint: more than the default. */
const CHECKPOINT = 'pragma wal_autocheckpoint = 4000'
/** Milliseconds that a statement blocks the thread while another process writes. */
const BUSY_TIMEOUT = 50
/** Milliseconds that a transaction waits for another process, in steps: other calls are answered between them. */
const MAX_WAIT = 30_000
const PAUSE = 20
// Messages of SQLite: the package for Node 20 raises the errors of queries without their codes.
const BUSY = /is locked|is busy/
const DAMAGE = /malformed|not a database|unsupported file format|too large to be represented/
const INCOMPLETE = /no such (?:table|column)|has no column/
const OLD_SCHEMA = /its schema has version \d+, an earlier one/
/** The code of an I/O error that is no failure of the disk: the file is too short (https://sqlite.org/rescode.html). */
const SHORT_READ = 522

function openDatabase (path: string, options = {}): DatabaseSyncInstance {
  const library = findLibrary() ?? '@photostructure/sqlite'
  const { DatabaseSync } = require(library) as typeof import('@photostructure/sqlite')
  return new DatabaseSync(path, options)
}

/** Runs the statements of one transaction; a text is prepared once. */
function queryOf (database: DatabaseSyncInstance): SqlQuery {
  const prepared = new Map<string, ReturnType<DatabaseSyncInstance['prepare']>>()
  return (sql, values = []) => {
    const statement = prepared.get(sql) ?? database.prepare(sql)
    prepared.set(sql, statement)
    return statement.all(...values.map(withoutNul)) as Row[]
  }
}

/** The database of a path: opened with its first use, created anew when the file is removed. */
export class SqliteDatabase implements SqlDatabase {
  readonly engine: string
  readonly place: string
  readonly schema = ''
  readonly like = 'like'
  readonly numberIn = (column: string, text: string): string =>
    `cast(substr(${column}, nullif(instr(${column}, '${text}'), 0) + ${text.length}) as real)`

  /** One, so that each insertion runs the same prepared statement. */
  readonly rowsPerInsert = 1
  readonly #isInMemory: boolean
  readonly #warn: (message: string) => void
  /** Whether a damaged file is set aside and a new one created: by applications, and not by commands that read it. */
  readonly #mayReplace: boolean
  #connection: DatabaseSyncInstance | null = null
  #identity: string | null = null
  /** The last transaction: they follow each other, in the order in which they were called. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor (path: string, mayReplace: boolean, warn: (message: string) => void) {
    this.#isInMemory = path.startsWith(IN_MEMORY)
    this.engine = this.#isInMemory ? 'memory' : 'sqlite'
    this.place = this.#isInMemory ? 'this process' : path
    this.#mayReplace = mayReplace
    this.#warn = warn
  }

  read = async <T>(work: (query: SqlQuery) => Promise<T>): Promise<T> => {
    const query = async (connection: DatabaseSyncInstance): Promise<T> => await work(queryOf(connection))
    try {
      return await this.#use(query)
    } catch (error) {
      const connection = attemptCall(() => this.#connection === null ? openReadOnly(this.place) : null) ?? null
      if (connection === null) throw error
      try {
        return await query(connection)
      } finally {
        connection.close()
      }
    }
  }

  async write<T> (work: (query: SqlQuery) => Promise<T>): Promise<T> {
    const writing = this.#writing.catch(() => {}).then(async () => await this.#use(async (connection) => {
      // Statements answer at once: nothing else runs in this thread before the transaction ends.
      connection.exec('begin immediate')
      try {
        const result = await work(queryOf(connection))
        connection.exec('commit')
        return result
      } catch (error) {
        attemptCall(() => connection.exec('rollback'))
        throw error
      }
    }))
    this.#writing = writing
    return await writing
  }

  /** Tries again while another process writes, and once with a new file where this one proves to be damaged. */
  async #use<T> (work: (connection: DatabaseSyncInstance) => Promise<T>): Promise<T> {
    let [damage, isSetAside, isReopened]: [string | null, boolean, boolean] = [null, false, false]
    for (const until = performance.now() + MAX_WAIT; ;) {
      try {
        const connection = this.#open(damage)
        damage = null
        return await work(connection)
      } catch (error) {
        const { message, errcode = SHORT_READ } = error as Error & { errcode?: number }
        const isIncomplete = INCOMPLETE.test(message)
        const isShort = message.includes('disk I/O error') && errcode === SHORT_READ
        const isDamage = isIncomplete || isShort || DAMAGE.test(message) || OLD_SCHEMA.test(message)
        if (!(error instanceof Error) || 'statusCode' in error) throw error
        if (BUSY.test(message) && performance.now() < until && !isExiting()) await sleep(PAUSE)
        else if (!isDamage || isSetAside || !this.#mayReplace) throw new StorageUnusableError(this.place, message)
        else if (isIncomplete && !isReopened) {
          // Another program removed a table: what is missing is created when the file is opened.
          this.#disconnect()
          isReopened = true
        } else [damage, isSetAside] = [message, true]
      }
    }
  }

  async close (): Promise<void> {
    await this.#writing.catch(() => {})
    // The package for Node 20 closes a file only after its statements were collected: until then the latest writes
    // would be in the log only.
    attemptCall(() => this.#connection?.exec('pragma wal_checkpoint(truncate)'))
    this.#connection?.close()
    this.#connection = null
  }

  #open (damage: string | null): DatabaseSyncInstance {
    if (this.#isInMemory) return (this.#connection ??= connect(IN_MEMORY, true))
    const opened = this.#identity
    if (this.#connection !== null && damage === null) {
      if (identityOf(this.place) === opened) return this.#connection
      this.#warn(`The store "${this.place}" was removed; a new one is created.`)
    }
    this.#disconnect()
    return withLock(this.place, () => {
      // Another process may have replaced the damaged file already.
      if (damage !== null && (opened === null || opened === identityOf(this.place))) this.#setAside(damage)
      if (!existsSync(this.place)) {
        // What belonged to a removed file would be read as part of the new one.
        for (const suffix of ['-wal', '-shm']) rmSync(this.place + suffix, { force: true })
        closeSync(openSync(this.place, 'a', 0o600))
      }
      this.#identity = identityOf(this.place)
      return (this.#connection = connect(this.place, this.#mayReplace))
    })
  }

  // A file that is damaged or removed cannot always be closed in order.
  #disconnect (): void {
    attemptCall(() => this.#connection?.close())
    this.#connection = null
  }

  #setAside (reason: string): void {
    const first = `${this.place}.set-aside`
    let aside = first
    for (let i = 2; existsSync(aside) || existsSync(`${aside}-wal`); i++) aside = `${first}-${i}`
    renameSync(this.place, aside)
    if (existsSync(`${this.place}-wal`)) renameSync(`${this.place}-wal`, `${aside}-wal`)
    this.#warn(`The store "${this.place}" cannot be read (${reason}). ` +
      `It was set aside as "${aside}"; a new one is created.`)
  }
}

/** Opens a file that became read-only; null: it can be written, or does not exist. */
function openReadOnly (path: string): DatabaseSyncInstance | null {
  const isWritable = attemptCall(() => {
    checkWritable(path)
    return true
  })
  if (isWritable === true || !existsSync(path)) return null
  // Without its log it cannot be opened in a folder that cannot be written.
  const name = existsSync(`${path}-wal`) ? path : `${pathToFileURL(path).href}?immutable=1`
  const connection = openDatabase(name, { readOnly: true })
  if (connection.prepare('pragma user_version').get()?.user_version === SCHEMA_VERSION) return connection
  connection.close()
  return null
}

/** `mayComplete`: whether tables that are missing are created in a file that has others. */
function connect (path: string, mayComplete: boolean): DatabaseSyncInstance {
  const connection = openDatabase(path)
  try {
    connection.exec(`pragma busy_timeout = ${BUSY_TIMEOUT}; pragma synchronous = normal; ${CHECKPOINT}`)
    const isNew = connection.prepare('select 1 from sqlite_schema limit 1').get() === undefined
    const version = connection.prepare('pragma user_version').get()?.user_version
    if (!isNew && Number(version) > 0 && Number(version) < SCHEMA_VERSION) {
      throw new Error(`its schema has version ${version}, an earlier one than ${SCHEMA_VERSION}`)
    }
    if (!isNew && version !== SCHEMA_VERSION) {
      const reason = version === 0
        ? 'it is a database of another program'
        : `its schema has version ${version}, and this version of fastify-hindsight supports ${SCHEMA_VERSION}`
      throw new StorageUnusableError(path, `${reason}; use another folder (profiler.dataDir, DATA_DIR), or remove it`)
    }
    connection.exec('pragma journal_mode = wal')
    const count = `select count(*) as found from sqlite_schema where name in (${NAMES.join()})`
    if (isNew || (mayComplete && connection.prepare(count).get()?.found !== NAMES.length)) {
      connection.exec(`begin immediate; ${SCHEMA} pragma user_version = ${SCHEMA_VERSION}; commit`)
    }
    return connection
  } catch (error) {
    attemptCall(() => connection.close())
    throw error
  }
}

// Two processes that create a file at once would damage it. The lock is a database of its own: the system releases it
// also where a process is killed.
function withLock<T> (path: string, work: () => T): T {
  checkWritable(path)
  const lockFile = `${path}-lock`
  // It has no contents: whatever another program has written there is removed.
  closeSync(openSync(lockFile, 'w', 0o600))
  const lock = openDatabase(lockFile)
  try {
    lock.exec(`pragma busy_timeout = ${BUSY_TIMEOUT}; begin exclusive`)
  } catch (error) {
    lock.close()
    const message = `"${lockFile}": ${(error as Error).message}`
    // Another error than that of a lock is no damage of the store.
    throw BUSY.test(message) ? new Error(message, { cause: error }) : new StorageUnusableError(path, message)
  }
  try {
    return work()
  } finally {
    lock.close()
  }
}

function identityOf (path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : `${found.dev}:${found.ino}`
}

/** Whether the process exits: the second number that the thread shares with it. */
function isExiting (): boolean {
  const { answered = new Int32Array(2) } = (workerData ?? {}) as { answered?: Int32Array }
  return Atomics.load(answered, 1) === 1
}
