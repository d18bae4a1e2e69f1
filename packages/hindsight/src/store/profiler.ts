import { randomBytes } from 'node:crypto'
import { Tokens } from '@fastify/csrf'
import { LruMap } from 'toad-cache'
import { attemptCall, settlesWithin } from '../call.js'
import { messageOf } from '../errors/thrown-value.js'
import type { Part } from '../parts/part.js'
import { httpError } from '../http/http-errors.js'
import { boundedRecord } from './summary.js'
import { newestOf } from './follow.js'
import { TOKEN_PATTERN, readProfile, type Profile, type ProfileSummary } from './profile.js'
import type { Criteria } from './criteria.js'
import type { Awaitable, ProfilePage, ProfileStorage, SearchOptions, StorageStats } from './storage.js'
import { WriteQueue, type Warn } from './write-queue.js'

export interface ProfilerOptions {
  storage: ProfileStorage
  /** The number of profiles that may wait to be written; further ones are dropped and counted. */
  maxQueue?: number | undefined
  maxProfileBytes?: number | undefined
  /** Called when profiles begin to be lost, and when they are written again. */
  warn?: Warn
  /** The parts whose values are searched; default: those of Hindsight. */
  parts?: readonly Part[] | undefined
}

/** Milliseconds that a reader waits for profiles that are being written: a store that hangs must not block readers. */
const READ_TIMEOUT = 1_000
/** Milliseconds for the last profiles to be written and the store to be closed, together. */
const CLOSE_TIMEOUT = 5_000
/** Tokens of the forms that change profiles, valid for 12 hours (ms): pages of another origin cannot read them. */
const FORM_TOKENS = new Tokens({ validity: 12 * 60 * 60 * 1_000, userInfo: true })
/** How many profiles have changes that are kept, and for how long (ms). */
const MAX_CHANGED = 1_000
const CHANGE_LIFETIME = 60_000

class ProfileStoreError extends httpError('ProfileStoreError', 'HINDSIGHT_PROFILE_STORE', 503) {}

/** Stores profiles and finds them. A failure or delay of the store affects no response. */
export class Profiler {
  readonly maxProfileBytes: number
  readonly #parts: readonly Part[] | undefined
  readonly #storage: ProfileStorage
  readonly queue: WriteQueue
  readonly #warn: Warn
  #amending: Promise<unknown> = Promise.resolve()
  /** The changes of recent profiles: a late error makes a profile anew. */
  readonly #changes = new LruMap<Array<(profile: Profile) => Profile>>(MAX_CHANGED, CHANGE_LIFETIME)
  /** That of the forms, which the processes of a store share; undefined until it is read from the store. */
  #secret: string | undefined
  readonly #randomSecret = randomBytes(32).toString('hex')
  #isWarm = false
  #closed = false
  #unreadableSince: number | null = null

  constructor ({
    storage, maxQueue = 4_000, maxProfileBytes = 512 * 1024, warn = () => {}, parts
  }: ProfilerOptions) {
    this.#parts = parts
    this.#storage = storage
    this.maxProfileBytes = maxProfileBytes
    this.#warn = warn
    this.queue = new WriteQueue({ maxWaiting: maxQueue, warn, put: (records) => storage.put(records) })
  }

  /** A token of the forms of a user, or of all without a login. Processes with the same store accept each other's. */
  async formToken (user?: string): Promise<string> {
    return FORM_TOKENS.create(await this.#formSecret(), ownerOf(user))
  }

  async acceptsForm (token: unknown, user?: string): Promise<boolean> {
    return typeof token === 'string' && FORM_TOKENS.verify(await this.#formSecret(), token, ownerOf(user))
  }

  async #formSecret (): Promise<string> {
    try {
      this.#secret ??= await this.#storage.secret?.()
    } catch {
      // A form changes a stored profile: it is of no use before the store is available.
    }
    return this.#secret || this.#randomSecret
  }

  /** Since when (ms since the epoch) profiles cannot be written or read; null: they can. */
  get unavailableSince (): number | null {
    const times = [this.queue.failingSince, this.#unreadableSince].filter((time) => time !== null)
    return times.length === 0 ? null : Math.min(...times)
  }

  /** Queues a profile to be written soon; false when it was not queued. */
  save (profile: Profile): boolean {
    return this.defer(profile.token, () => profile)
  }

  /**
   * Queues a profile that is built after its response, or when it is read: an urgent one in the next turn of the event
   * loop. False when it was not queued.
   */
  defer (token: string, build: () => Profile, isUrgent = false): boolean {
    const changes = this.#changes.get(token) ?? []
    return this.#add(token, () => changes.reduce((profile, change) => change(profile), build()), false, isUrgent)
  }

  #add (token: string, build: () => Profile, keepsPlace = false, isUrgent = false): boolean {
    return !this.#closed && this.queue.add(token, () => {
      const record = boundedRecord(build(), this.maxProfileBytes, this.#parts)
      return keepsPlace ? { ...record, keepsPlace } : record
    }, isUrgent)
  }

  /** Resolves when all profiles that were saved before are written or lost, or when the time (ms) is over. */
  flush (timeout?: number): Promise<void> {
    return this.queue.flush(timeout)
  }

  /** The profile of a token, written or still waiting; undefined for a malformed token, too. */
  async find (token: string): Promise<Profile | undefined> {
    await settlesWithin(this.#amending, READ_TIMEOUT)
    const stored = await this.#stored(token)
    return stored && readProfile(stored)
  }

  async #stored (token: string): Promise<Profile | undefined> {
    if (!TOKEN_PATTERN.test(token)) return undefined
    const waiting = this.queue.get(token)
    if (waiting !== undefined) return JSON.parse(waiting.json) as Profile
    return await this.#query(() => this.#storage.get(token))
  }

  async latest (criteria: Criteria = {}): Promise<ProfileSummary | undefined> {
    return await newestOf(this, criteria)
  }

  async search (options: SearchOptions): Promise<ProfilePage> {
    return await this.#queryAll(() => this.#storage.search(options))
  }

  /** Protects a profile from eviction, or no longer; false where there is none. */
  async pin (token: string, pinned: boolean): Promise<boolean> {
    if (!TOKEN_PATTERN.test(token)) return false
    return await this.#queryAll(() => this.#storage.pin(token, pinned))
  }

  /**
   * Changes a stored profile, which stays pinned, and becomes the newest unless it keeps its place; false: not found,
   * or the queue is full.
   */
  async amend (token: string, change: (profile: Profile) => Profile, keepsPlace = false): Promise<boolean> {
    // One after the other, so that none overwrites another.
    const amended = this.#amending.then(async () => {
      const profile = await this.#stored(token)
      if (profile === undefined) return false
      const changed = change(profile)
      if (changed === profile) return true
      this.#changes.set(token, [...this.#changes.get(token) ?? [], change])
      return this.#add(token, () => changed, keepsPlace)
    })
    this.#amending = amended.catch(() => {})
    return await amended
  }

  /** Releases the changes of a profile that has no further ones. */
  forgetChanges (token: string): void {
    this.#changes.delete(token)
  }

  async stats (): Promise<StorageStats> {
    return await this.#queryAll(() => this.#storage.stats())
  }

  /** Prepares the store for an application that listens. */
  warmUp (): void {
    if (this.#isWarm) return
    this.#isWarm = true
    attemptCall(() => this.#storage.warmUp?.())
  }

  /** Passes the queued profiles to the store in a process that exits; `settle` waits for it. */
  exit (): void {
    const records = this.queue.drain()
    // A store of the application may throw synchronously.
    const put = async (): Promise<void> => await this.#storage.put(records)
    if (records.length > 0) put().catch(() => {})
  }

  /** Blocks until the store has what was passed to it, at most until `deadline` (of `performance.now()`). */
  settle (deadline: number): void {
    // The other applications of the process write their profiles, too.
    attemptCall(() => this.#storage.settle?.(Math.max(0, deadline - performance.now())))
  }

  async close (): Promise<void> {
    if (this.#closed) return
    const until = performance.now() + CLOSE_TIMEOUT
    const timeLeft = (): number => Math.max(0, until - performance.now())
    await settlesWithin(this.#amending, timeLeft())
    if (this.#closed) return
    this.#closed = true
    await this.flush(timeLeft())
    const { waiting } = this.queue
    if (waiting > 0) {
      this.#warn(`${waiting} profiles were not written when the application was closed; the store is too slow`)
    }
    // A store that hangs must not keep the process from ending.
    await settlesWithin(Promise.resolve(this.#storage.close()), timeLeft())
  }

  // Queries that may concern profiles which are not written yet.
  async #queryAll<T> (query: () => Awaitable<T>): Promise<T> {
    await settlesWithin(this.#amending, READ_TIMEOUT)
    await this.flush(READ_TIMEOUT)
    return await this.#query(query)
  }

  // Errors of a store of the application have no status.
  async #query<T> (query: () => Awaitable<T>): Promise<T> {
    try {
      const result = await query()
      this.#unreadableSince = null
      return result
    } catch (error) {
      const status = Number((Object(error) as { statusCode?: unknown }).statusCode ?? 503)
      if (status >= 500) this.#unreadableSince ??= Date.now()
      if (typeof error === 'object' && error !== null && 'statusCode' in error) throw error
      throw new ProfileStoreError(`The store of profiles failed: ${messageOf(error)}`, { cause: error })
    }
  }
}

// @fastify/csrf makes no token for an empty text.
function ownerOf (user: string | undefined): string {
  return user === undefined ? 'anonymous' : `user ${user}`
}
