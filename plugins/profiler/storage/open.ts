import { join } from 'node:path'
import { DEFAULT_DATA_DIR } from './data-dir.js'
import type { ProfileStorage, StorageBounds } from './storage.js'

/** Where profiles are kept: an engine by its name or URL, or one of the application's own. */
export type StorageSetting = string | ProfileStorage

export interface OpenStorageOptions extends Partial<StorageBounds> {
  /** `embedded` (the default), `memory`, `redis://…`, `rediss://…`, or what has the verbs of `ProfileStorage`. */
  storage?: StorageSetting
  /** The folder that the embedded store lies in. */
  dataDir?: string
  /** Told what operators should know: a store of another version that was set aside, a server that is away. */
  warn?: (message: string, error?: unknown) => void
}

/** The name of the embedded store in its folder. */
export const STORE_FILE = 'profiles.mdb'
const VERBS = ['put', 'get', 'has', 'search', 'pin', 'purge', 'stats', 'close'] as const

/** Opens the store that the options name; only that engine is loaded. */
export async function openStorage ({ storage = 'embedded', dataDir = DEFAULT_DATA_DIR, maxProfiles, maxBytes, warn }: OpenStorageOptions): Promise<ProfileStorage> {
  if (typeof storage !== 'string') return checked(storage)
  // Who says nothing of the bounds takes those that the store was given by others.
  const options = { ...(maxProfiles !== undefined && { maxProfiles }), ...(maxBytes !== undefined && { maxBytes }), ...(warn !== undefined && { warn }) }
  if (storage === 'memory') {
    const { MemoryStorage } = await import('./memory.js')
    return new MemoryStorage(options)
  }
  if (storage === 'embedded') {
    const { openEmbeddedStorage } = await import('./embedded.js')
    return await openEmbeddedStorage({ ...options, path: join(dataDir, STORE_FILE) })
  }
  if (/^rediss?:\/\//i.test(storage)) {
    const { openRedisStorage } = await import('./redis.js')
    return await openRedisStorage({ ...options, url: storage })
  }
  throw new Error(`profiler.storage (STORAGE_URL): "${withoutPassword(storage)}" is neither embedded nor memory, nor an address such as redis://localhost:6379`)
}

function checked (storage: ProfileStorage): ProfileStorage {
  const missing = VERBS.filter((verb) => typeof (storage as Partial<ProfileStorage>)[verb] !== 'function')
  if (missing.length > 0) throw new Error(`profiler.storage: the store has no ${missing.join(', ')}`)
  return storage
}

function withoutPassword (url: string): string {
  return url.replace(/:\/\/[^@]*@/, '://')
}
