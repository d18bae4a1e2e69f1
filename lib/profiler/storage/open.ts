import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ProfileStorage, StorageBounds } from './storage.js'

/** Where profiles are kept: `sqlite`, `memory`, `postgres://…`, or an object with the methods of `ProfileStorage`. */
export type StorageSetting = string | ProfileStorage

export interface OpenStorageOptions extends Partial<StorageBounds> {
  /** The default is `sqlite`. */
  storage?: StorageSetting
  /** The folder of the SQLite file. */
  dataDir?: string
  /** Whether a SQLite file that cannot be written is an error at once, instead of with the first profile; true by default. */
  checkPlace?: boolean
  /** Receives what operators should know, such as a damaged file that was set aside. */
  warn?: (message: string, error?: unknown) => void
}

/** The folder of the SQLite file where none is configured, from the working directory. */
export const DEFAULT_DATA_DIR = 'node_modules/.cache/hindsight'

/** The name of the SQLite file in its folder. */
export const STORE_FILE = 'profiles.db'

export const NO_SQLITE = 'this Node.js has no SQLite; use Node.js 22.13 or later, or install @photostructure/sqlite'

const METHODS = ['put', 'get', 'search', 'pin', 'purge', 'stats', 'close'] as const
const POSTGRES = /^postgres(?:ql)?:/i
let isFallbackReported = false

/** Throws at a setting that names no store. */
export function checkStorageSetting (storage: StorageSetting = 'sqlite'): void {
  if (typeof storage !== 'string') {
    const missing = METHODS.filter((name) => typeof (storage as Partial<ProfileStorage>)[name] !== 'function')
    if (missing.length > 0) throw new Error(`profiler.storage: the store has no ${missing.join(', ')}`)
  } else if (storage !== 'sqlite' && storage !== 'memory' && !POSTGRES.test(storage)) {
    const shown = storage.replace(/:\/\/.*@/s, '://')
    throw new Error(`profiler.storage (STORAGE_URL): "${shown}" is neither sqlite nor memory, nor an address such as postgres://localhost:5432/hindsight`)
  }
}

/** Returns the store that the options name. Only its engine is loaded; nothing is opened before the first use. */
export async function openStorage (options: OpenStorageOptions): Promise<ProfileStorage> {
  const { storage = 'sqlite', dataDir = DEFAULT_DATA_DIR, checkPlace = true, maxProfiles, maxBytes, warn = process.emitWarning } = options
  const bounds = { ...(maxProfiles !== undefined && { maxProfiles }), ...(maxBytes !== undefined && { maxBytes }) }
  checkStorageSetting(storage)
  if (typeof storage !== 'string') return storage
  if (POSTGRES.test(storage)) return await openPostgres(storage, bounds)
  const { findLibrary } = await import('./sqlite/database.js')
  if (findLibrary() === undefined) {
    if (!isFallbackReported) warn(`Profiles are kept in memory only: ${NO_SQLITE}.`)
    isFallbackReported = true
    return new (await import('./memory.js')).MemoryStorage(bounds)
  }
  const { checkWritable, SqliteStorage } = await import('./sqlite.js')
  if (storage === 'memory') return new SqliteStorage({ ...bounds, path: null, warn })
  const [path, old] = [join(dataDir, STORE_FILE), join(dataDir, 'profiles.mdb')]
  if (existsSync(old) && !existsSync(path)) warn(`The store "${old}" is of an earlier version, which is not read any more; you can delete it.`)
  if (checkPlace) checkWritable(path)
  return new SqliteStorage({ ...bounds, path, warn })
}

async function openPostgres (url: string, bounds: Partial<StorageBounds>): Promise<ProfileStorage> {
  const { PostgresDatabase } = await import('./postgres/database.js').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Error('profiler.storage (STORAGE_URL): PostgreSQL needs the package pg: npm install pg', { cause: error })
  })
  const { SqlStorage } = await import('./sql.js')
  return new SqlStorage(new PostgresDatabase(url), bounds)
}
