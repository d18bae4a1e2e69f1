import type { Profile } from './profile.js'
import type { Criteria } from './criteria.js'
import { SqliteStorage } from './sqlite.js'
import { IN_MEMORY } from './sqlite/availability.js'
import type { Awaitable, ProfilePage, ProfileStorage, SearchOptions, StorageBounds, StorageStats } from './storage.js'
import type { ProfileRecord } from './summary.js'

/** Profiles that are kept in this thread: an application that a test injects requests into needs no other one. */
const MAX_WITHOUT_THREAD = 50

let databases = 0

/** The store `memory` where there is SQLite: a database without a file, outside of the application's heap. */
export class MemoryDatabase implements ProfileStorage {
  readonly #bounds: StorageBounds
  #storage: ProfileStorage
  /** What was written before the thread was needed; null: the database has it. */
  #writes: Array<(storage: ProfileStorage) => unknown> | null = []
  #profiles = 0

  /** `first` has the profiles until the thread is needed, and all where the thread cannot start. */
  constructor (bounds: StorageBounds, first: ProfileStorage) {
    this.#bounds = bounds
    this.#storage = first
  }

  put (records: readonly ProfileRecord[]): Awaitable<void> {
    this.#profiles += records.length
    if (this.#profiles > MAX_WITHOUT_THREAD) this.warmUp()
    return this.#write((storage) => storage.put(records))
  }

  get (token: string): Awaitable<Profile | undefined> {
    return this.#storage.get(token)
  }

  search (options: SearchOptions): Awaitable<ProfilePage> {
    return this.#storage.search(options)
  }

  pin (token: string, pinned: boolean): Awaitable<boolean> {
    return this.#write((storage) => storage.pin(token, pinned))
  }

  purge (criteria?: Criteria): Awaitable<number> {
    return this.#write((storage) => storage.purge(criteria))
  }

  stats (): Awaitable<StorageStats> {
    return this.#storage.stats()
  }

  close (): Awaitable<void> {
    return this.#storage.close()
  }

  warmUp (): void {
    if (this.#writes === null) return
    const [first, writes] = [this.#storage, this.#writes]
    const path = `${IN_MEMORY}${++databases}`
    const database = new SqliteStorage({ ...this.#bounds, path, memory: first })
    database.warmUp()
    // In their order: then cursors of earlier pages are valid. What failed before fails again.
    for (const write of writes) Promise.resolve(write(database)).catch(() => {})
    this.#storage = database
    this.#writes = null
  }

  #write<T> (write: (storage: ProfileStorage) => Awaitable<T>): Awaitable<T> {
    this.#writes?.push(write)
    return write(this.#storage)
  }
}
