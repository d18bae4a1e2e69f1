import { boundProfile } from './bounds.js'
import type { Profile } from './profile.js'
import type { Criteria } from './storage/criteria.js'
import type { Awaitable, ProfilePage, ProfileStorage, SearchOptions, StorageStats } from './storage/storage.js'
import type { ProfileSummary } from './storage/summary.js'
import { drawToken, TOKEN_PATTERN } from './token.js'

declare module 'fastify' {
  interface FastifyInstance {
    profiler: Profiler
  }
}

export interface ProfilerOptions {
  storage: ProfileStorage
  /** Off: nothing is saved, what is stored can still be read. */
  enabled?: boolean
  /** How many profiles may wait to be written; those above are dropped and counted. */
  maxQueue?: number
  /** Of one profile as JSON. */
  maxProfileBytes?: number
  /** Told once when the store begins to fail, and again only after it has worked in between. */
  warn?: (message: string, error: unknown) => void
}

export interface ProfilerCounters {
  written: number
  /** Not taken: the queue was full. */
  dropped: number
  /** Taken, but the store refused them. */
  failed: number
}

// Tokens that were given away and whose profile has not come yet must not be given twice.
const MAX_RESERVED = 10_000

/** Keeps what requests left behind, and finds it again, without ever delaying or failing a response. */
export class Profiler {
  readonly enabled: boolean
  readonly counters: ProfilerCounters = { written: 0, dropped: 0, failed: 0 }
  readonly #storage: ProfileStorage
  readonly #maxQueue: number
  readonly #maxProfileBytes: number
  readonly #warn: (message: string, error: unknown) => void
  readonly #reserved = new Set<string>()
  #queue = new Map<string, Profile | (() => Profile)>()
  #batch: ReadonlyMap<string, Profile> = new Map()
  #writing: Promise<void> | undefined
  #scheduled = false
  #closed = false
  #warned = false

  constructor ({ storage, enabled = true, maxQueue = 1_000, maxProfileBytes = 512 * 1024, warn = emitWarning }: ProfilerOptions) {
    this.enabled = enabled
    this.#storage = storage
    this.#maxQueue = maxQueue
    this.#maxProfileBytes = maxProfileBytes
    this.#warn = warn
  }

  /** A token that no profile has; at once where the store answers at once. */
  newToken (): Awaitable<string> {
    const token = drawToken(candidate => this.#isTaken(candidate))
    return typeof token === 'string' ? this.#reserve(token) : token.then(drawn => this.#reserve(drawn))
  }

  /** Takes a profile to be written soon; false when it was not taken. */
  save (profile: Profile): boolean {
    return this.defer(profile.token, profile)
  }

  /** The same for a profile that is made when it is written or asked for, away from the response that it describes. */
  defer (token: string, profile: Profile | (() => Profile)): boolean {
    if (!this.enabled || this.#closed) return false
    if (this.#queue.size + this.#batch.size >= this.#maxQueue) {
      this.counters.dropped++
      return false
    }
    this.#queue.set(token, profile)
    this.#schedule()
    return true
  }

  /** Resolves when everything that was saved before has been written, or given up. */
  async flush (): Promise<void> {
    if (this.#writing !== undefined) await this.#writing
    // Meanwhile another caller may have begun to write what was waiting here.
    if (this.#queue.size > 0 || this.#writing !== undefined) await (this.#writing ?? this.#write())
  }

  /** The profile of a token, written or still waiting; undefined for a malformed token too. */
  async find (token: string): Promise<Profile | undefined> {
    if (!TOKEN_PATTERN.test(token)) return undefined
    const waiting = this.#made(token) ?? this.#batch.get(token)
    return waiting === undefined ? await this.#storage.get(token) : boundProfile(waiting, this.#maxProfileBytes)
  }

  /** The newest profile that fits. */
  async latest (criteria: Criteria = {}): Promise<ProfileSummary | undefined> {
    return (await this.search({ criteria, limit: 1 })).profiles[0]
  }

  /** A page of summaries, newest first. */
  async search (options: SearchOptions): Promise<ProfilePage> {
    await this.flush()
    return await this.#storage.search(options)
  }

  /** Keeps a profile from being evicted, or no longer; false where there is none. */
  async pin (token: string, pinned: boolean): Promise<boolean> {
    if (!TOKEN_PATTERN.test(token)) return false
    await this.flush()
    return await this.#storage.pin(token, pinned)
  }

  /** Removes what fits and is not pinned, and says how many. */
  async purge (criteria?: Criteria, options?: { pinned?: boolean }): Promise<number> {
    await this.flush()
    return await this.#storage.purge(criteria, options)
  }

  async stats (): Promise<StorageStats> {
    await this.flush()
    return await this.#storage.stats()
  }

  /** Writes what is waiting and lets go of the store. */
  async close (): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.flush()
    await this.#storage.close()
  }

  #isTaken (token: string): Awaitable<boolean> {
    if (this.#reserved.has(token) || this.#queue.has(token) || this.#batch.has(token)) return true
    try {
      const taken = this.#storage.has(token)
      // A store that is away must not keep the request from its answer; a double token is the smaller harm.
      return typeof taken === 'boolean' ? taken : taken.catch(error => this.#complain(error))
    } catch (error) {
      return this.#complain(error)
    }
  }

  #reserve (token: string): string {
    this.#reserved.add(token)
    const [oldest] = this.#reserved
    if (oldest !== undefined && this.#reserved.size > MAX_RESERVED) this.#reserved.delete(oldest)
    return token
  }

  // A profile that cannot be made is lost, and counted; it must not take the others with it.
  #made (token: string): Profile | undefined {
    const waiting = this.#queue.get(token)
    if (typeof waiting !== 'function') return waiting
    try {
      const profile = waiting()
      this.#queue.set(token, profile)
      return profile
    } catch (error) {
      this.#queue.delete(token)
      this.counters.failed++
      this.#complain(error)
      return undefined
    }
  }

  #schedule (): void {
    if (this.#scheduled || this.#writing !== undefined) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (this.#writing === undefined && this.#queue.size > 0) this.#write()
    })
  }

  #write (): Promise<void> {
    const batch = new Map<string, Profile>()
    for (const token of this.#queue.keys()) {
      const profile = this.#made(token)
      if (profile !== undefined) batch.set(token, profile)
    }
    this.#batch = batch
    this.#queue = new Map()
    this.#writing = this.#put(batch).finally(() => {
      this.#batch = new Map()
      this.#writing = undefined
      if (this.#queue.size > 0) this.#schedule()
    })
    return this.#writing
  }

  async #put (batch: ReadonlyMap<string, Profile>): Promise<void> {
    const profiles = this.#readable(batch)
    try {
      await this.#storage.put(profiles)
      this.counters.written += profiles.length
      this.#warned = false
      for (const token of batch.keys()) this.#reserved.delete(token)
    } catch (error) {
      this.counters.failed += profiles.length
      this.#complain(error)
    }
  }

  /** Bounds what is waiting; a profile whose data throws costs only itself. */
  #readable (batch: ReadonlyMap<string, Profile>): Profile[] {
    return [...batch.values()].flatMap(profile => {
      try {
        return [boundProfile(profile, this.#maxProfileBytes)]
      } catch (error) {
        this.counters.failed++
        this.#complain(error, 'Profiles are lost: their data cannot be read.')
        return []
      }
    })
  }

  #complain (error: unknown, message = 'Profiles are lost: the store failed.'): false {
    if (!this.#warned) this.#warn(message, error)
    this.#warned = true
    return false
  }
}

function emitWarning (message: string, error: unknown): void {
  process.emitWarning(`${message} ${error instanceof Error ? error.message : String(error)}`, 'HindsightWarning')
}
