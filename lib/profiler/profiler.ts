import { atExit } from './at-exit.js'
import { boundProfile } from './bounds.js'
import { FormTokens } from './form-tokens.js'
import type { OtlpExporter } from './otlp/exporter.js'
import type { Profile } from './profile.js'
import { settlesWithin } from './real-timers.js'
import type { Criteria } from './storage/criteria.js'
import { httpError } from '../http/http-errors.js'
import type { Awaitable, ProfilePage, ProfileStorage, SearchOptions, StorageStats } from './storage/storage.js'
import { recordOf, type ProfileRecord, type ProfileSummary } from './summary.js'
import { newToken, TOKEN_PATTERN } from './token.js'
import type { Warn, WriteCounters } from './write-metrics.js'
import { WriteQueue } from './write-queue.js'

declare module '../lifecycle/services.js' {
  interface Services {
    /** The stored profiles; absent where no request is profiled. */
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
  /** Told when profiles begin to be lost, and when they are kept again. */
  warn?: Warn
  /** Milliseconds from one such warning to the next. */
  quiet?: number
  /** The role that the profiler's pages need; none in debug mode. */
  role?: string
  /** Sends what is kept elsewhere too. */
  exporter?: OtlpExporter
  /** What the tokens of the profiler's forms are made with; processes that share it take each other's. */
  secret?: string
}

/** Milliseconds that a reader waits for what is being written; a store that hangs must not hang its readers. */
const READ_TIMEOUT = 1_000
const CLOSE_TIMEOUT = 5_000
/** Milliseconds for a store to close after a flush that took all of the time. */
const MIN_CLOSE_TIMEOUT = 1_000
/** Milliseconds that a process that exits is held for its last profiles. */
const EXIT_TIMEOUT = 500

/** The store of profiles failed (RFC 9110, section 15.6.4). */
export class ProfileStoreError extends httpError('ProfileStoreError', 'HINDSIGHT_PROFILE_STORE', 503) {}

/** Keeps what requests left behind, and finds it again, without ever delaying or failing a response. */
export class Profiler {
  readonly enabled: boolean
  readonly formTokens: FormTokens
  readonly role: string | undefined
  readonly exporter: OtlpExporter | undefined
  /** Bytes of JSON that one profile may take. */
  readonly maxProfileBytes: number
  readonly #storage: ProfileStorage
  readonly #queue: WriteQueue
  readonly #warn: Warn
  readonly #releaseExit = atExit(() => this.exit())
  #closed = false

  constructor ({ storage, enabled = true, maxQueue = 4_000, maxProfileBytes = 512 * 1024, warn = emitWarning, quiet, secret, role, exporter }: ProfilerOptions) {
    this.enabled = enabled
    this.formTokens = new FormTokens(secret)
    this.role = role
    this.exporter = exporter
    this.#storage = storage
    this.maxProfileBytes = maxProfileBytes
    this.#warn = warn
    this.#queue = new WriteQueue({
      maxWaiting: maxQueue,
      warn,
      put: async (records) => await storage.put(records),
      ...(quiet !== undefined && { quiet })
    })
  }

  /** How many profiles were written, and how many were lost. */
  get counters (): Readonly<WriteCounters> {
    return this.#queue.metrics.counters
  }

  /** Why profiles were lost, the last time; empty where none was. */
  get lastLoss (): string {
    return this.#queue.metrics.lastLoss
  }

  /** A token that no waiting profile has. */
  newToken (): string {
    for (;;) {
      const token = newToken()
      if (!this.#queue.has(token)) return token
    }
  }

  /** Queues a profile to be written soon; false when it was not queued. */
  save (profile: Profile): boolean {
    return this.#add(profile.token, () => this.#record(profile))
  }

  /** Queues a profile that is built after its response, or when it is read; `bytes`: about what it holds until then. */
  defer (token: string, build: () => Profile, bytes = 0): boolean {
    return this.#add(token, () => this.#record(build()), bytes)
  }

  /** Resolves when everything that was saved before has been written, or given up; or when the time (ms) is over. */
  flush (timeout?: number): Promise<void> {
    return this.#queue.flush(timeout)
  }

  /** The profile of a token, written or still waiting; undefined for a malformed token too. */
  async find (token: string): Promise<Profile | undefined> {
    if (!TOKEN_PATTERN.test(token)) return undefined
    const waiting = this.#queue.get(token)
    return waiting === undefined ? await this.#ask(() => this.#storage.get(token)) : JSON.parse(waiting.json) as Profile
  }

  /** The newest profile that fits. */
  async latest (criteria: Criteria = {}): Promise<ProfileSummary | undefined> {
    return (await this.search({ criteria, limit: 1 })).profiles[0]
  }

  /** A page of summaries, newest first. */
  async search (options: SearchOptions): Promise<ProfilePage> {
    await this.flush(READ_TIMEOUT)
    return await this.#ask(() => this.#storage.search(options))
  }

  /** Keeps a profile from being evicted, or no longer; false where there is none. */
  async pin (token: string, pinned: boolean): Promise<boolean> {
    if (!TOKEN_PATTERN.test(token)) return false
    await this.flush(READ_TIMEOUT)
    return await this.#ask(() => this.#storage.pin(token, pinned))
  }

  /** Removes what fits and is not pinned, and says how many. */
  async purge (criteria?: Criteria, options?: { pinned?: boolean }): Promise<number> {
    await this.flush(READ_TIMEOUT)
    return await this.#ask(() => this.#storage.purge(criteria, options))
  }

  /**
   * Writes a profile anew with what came to light behind its response; it keeps its pin, and is the one that was written last from then on.
   * False where there is none, or too much is waiting to be written.
   */
  async amend (token: string, change: (profile: Profile) => Profile): Promise<boolean> {
    const profile = await this.find(token)
    if (profile === undefined) return false
    const { profiles: [summary] } = await this.search({ criteria: { token }, limit: 1 })
    if (!this.save(change(profile))) return false
    if (summary?.pinned === true) await this.pin(token, true)
    return true
  }

  async stats (): Promise<StorageStats> {
    await this.flush(READ_TIMEOUT)
    return await this.#ask(() => this.#storage.stats())
  }

  /** Hands what is waiting to the store of a process that exits, and blocks until it is written, or for half a second. */
  exit (): void {
    const records = this.#queue.drain()
    // A store of the application may throw at once.
    const put = async (): Promise<void> => await this.#storage.put(records)
    if (records.length > 0) put().catch(() => {})
    this.#storage.settle?.(EXIT_TIMEOUT)
  }

  /** Writes what is waiting and closes the store. */
  async close (): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const until = performance.now() + CLOSE_TIMEOUT
    await this.flush(CLOSE_TIMEOUT)
    await this.exporter?.close()
    const { waiting } = this.#queue
    if (waiting > 0) this.#warn(`${waiting} profiles were not written when the application was closed; the store is too slow`)
    // One that hangs must not keep the process from ending.
    await settlesWithin(Promise.resolve(this.#storage.close()), Math.max(MIN_CLOSE_TIMEOUT, until - performance.now()))
    this.#releaseExit()
  }

  // What a store of the application's own raises says nothing of its status.
  async #ask<T> (question: () => Awaitable<T>): Promise<T> {
    try {
      return await question()
    } catch (error) {
      if (typeof error === 'object' && error !== null && 'statusCode' in error) throw error
      throw new ProfileStoreError(`The store of profiles failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  }

  #add (token: string, build: () => ProfileRecord, bytes = 0): boolean {
    return this.enabled && !this.#closed && this.#queue.add(token, build, bytes)
  }

  #record (profile: Profile): ProfileRecord {
    const bounded = boundProfile(profile, this.maxProfileBytes)
    // Also while the store is unavailable.
    this.exporter?.add([bounded])
    return recordOf(bounded)
  }
}

function emitWarning (message: string, error?: unknown): void {
  const reason = error === undefined ? '' : ` ${error instanceof Error ? error.message : String(error)}`
  process.emitWarning(message + reason, 'HindsightWarning')
}
