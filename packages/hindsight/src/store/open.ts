import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { isBundled } from '../require.js'
import { DEFAULT_BOUNDS, type ProfileStorage, type StorageBounds } from './storage.js'

export interface OpenStorageOptions extends Partial<StorageBounds> {
  /** `sqlite` (default), `memory`, `postgres://…`, or a store of the application. */
  storage?: string | ProfileStorage
  dataDir?: string
  /** Whether a SQLite file that cannot be written is an error at once, not with the first profile; default: true. */
  checkPlace?: boolean
  /** Receives messages for operators, such as that a damaged file was set aside. */
  warn?: (message: string, error?: unknown) => void
}

/** The folder of the SQLite file by default, relative to the working directory: no tool watches it for changes. */
export const DEFAULT_DATA_DIR = 'node_modules/.cache/hindsight'

/** The same for profiles of production, which the next `npm ci` must not remove. */
export const PRODUCTION_DATA_DIR = '.hindsight'

export const STORE_FILE = 'profiles.db'

export const NO_SQLITE =
  'this Node.js has no SQLite; use Node.js 22.13 or later, or install @photostructure/sqlite'

const BUNDLED =
  'fastify-hindsight is part of a bundle; to store them in SQLite, mark it as an external package of the bundle'

/** Milliseconds from the end of an application to that of its database: a suite of tests makes many applications. */
const CLOSE_DELAY = 1_000

const MAX_HEAP_BYTES = 32 * 1024 * 1024

const POSTGRES = /^postgres(?:ql)?:\/\//i
let isFallbackReported = false

/** Throws for a text that names no store. The message does not contain the text, which may have a password. */
export function checkStorageSetting (storage: string | ProfileStorage = 'sqlite'): void {
  if (typeof storage !== 'string' || storage === 'sqlite' || storage === 'memory' || isPostgresAddress(storage)) return
  throw new Error('profiler.storage (STORAGE_URL): it is neither sqlite nor memory, nor an address such as ' +
    'postgres://user:password@localhost:5432/hindsight, in which special characters are percent-encoded')
}

function isPostgresAddress (text: string): boolean {
  if (!POSTGRES.test(text) || !URL.canParse(text)) return false
  const { host, pathname, search, hash } = new URL(text)
  // After "/", "?" or "#" in a password, the beginning of the password would be read and shown as the host.
  return (host !== '' || pathname.length > 1) && !/@/.test(pathname + hash) && !/^[^=]*@/.test(search)
}

/** Returns the store that the options name. Only its engine is loaded; nothing is opened before the first use. */
export async function openStorage (options: OpenStorageOptions): Promise<ProfileStorage> {
  const { storage = 'sqlite', dataDir = DEFAULT_DATA_DIR, warn = process.emitWarning } = options
  const { maxProfiles = DEFAULT_BOUNDS.maxProfiles, maxBytes = DEFAULT_BOUNDS.maxBytes, checkPlace = true } = options
  const bounds = { maxProfiles, maxBytes }
  checkStorageSetting(storage)
  if (typeof storage !== 'string') return storage
  if (POSTGRES.test(storage)) return await openPostgres(storage, bounds)
  const { checkWritable, findLibrary } = await import('./sqlite/availability.js')
  const hasSqlite = !isBundled && findLibrary() !== undefined
  if (storage === 'sqlite' && !hasSqlite && !isFallbackReported) {
    warn(`Profiles are kept in memory only: ${isBundled ? BUNDLED : NO_SQLITE}.`)
    isFallbackReported = true
  }
  const { MemoryStorage } = await import('./memory.js')
  const memory = new MemoryStorage({ ...bounds, maxBytes: Math.min(maxBytes, maxHeapBytes()) })
  if (!hasSqlite) return memory
  if (storage === 'memory') {
    const { MemoryDatabase } = await import('./memory-database.js')
    return new MemoryDatabase(bounds, memory)
  }
  const { SqliteStorage } = await import('./sqlite.js')
  const path = join(dataDir, STORE_FILE)
  if (checkPlace) checkWritable(path)
  return new SqliteStorage({ ...bounds, path, memory, closeDelay: CLOSE_DELAY, warn })
}

/** Bytes of profiles in the heap of the application: they must not end it. */
function maxHeapBytes (): number {
  return Math.min(MAX_HEAP_BYTES, getHeapStatistics().heap_size_limit / 4)
}

async function openPostgres (url: string, bounds: StorageBounds): Promise<ProfileStorage> {
  const { PostgresDatabase } = await import('./postgres.js')
  const { SqlStorage } = await import('./sql.js')
  try {
    return new SqlStorage(new PostgresDatabase(url), bounds)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    const message = 'profiler.storage (STORAGE_URL): PostgreSQL needs the package pg: npm install pg'
    throw new Error(message, { cause: error })
  }
}
