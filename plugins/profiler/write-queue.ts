import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { counted } from '../view/counted.js'
import type { Profile, ProfileDraft } from './profile.js'

export interface WriteCounters {
  written: number
  /** Not taken: too many were waiting already. */
  dropped: number
  /** Taken, but they could not be made, or the store refused them. */
  failed: number
}

/** Told when profiles begin to be lost and when they are kept again, not for each one. */
export type Warn = (message: string, error?: unknown) => void

export interface WriteQueueOptions {
  /** Writes a batch, oldest first. */
  write: (profiles: readonly Draft[]) => Promise<void> | void
  /** Makes a profile ready to be stored. */
  prepare: (profile: Draft) => Draft
  /** How many may wait; those above are dropped and counted. */
  maxWaiting: number
  /** How many bytes those that wait may hold, as far as they are known; 64 MiB by default. */
  maxWaitingBytes?: number
  warn: Warn
  /** Milliseconds from one warning of losses to the next, however often they begin and end; a minute by default. */
  quiet?: number
}

type Draft = Profile | ProfileDraft
type Source = Draft | (() => Draft)

interface Waiting {
  source: Source
  /** What it keeps from being collected until it is written, about. */
  bytes: number
}

/** Milliseconds from the first profile of a batch to its writing: what one request makes others join. */
const DELAY = 25
/** The work of one batch must not be felt by requests that come meanwhile. */
const BATCH = 64
/** A store that is slower than the requests gets more at a time. */
const MAX_BATCH = 256
/** Milliseconds of it at a time. */
const PATIENCE = 1
const MAX_WAITING_BYTES = 64 * 1024 * 1024

/** Takes profiles at once and writes them later, in batches, whatever the store does meanwhile. */
export class WriteQueue {
  readonly counters: WriteCounters = { written: 0, dropped: 0, failed: 0 }
  /** Why profiles were lost, the last time; empty where none was. */
  lastLoss = ''
  readonly #options: WriteQueueOptions
  readonly #waiting = new Map<string, Waiting>()
  readonly #unmade: string[] = []
  #batch: ReadonlyMap<string, Draft> = new Map()
  #writing: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #writingSince = 0
  #bytes = 0
  #taken = 0
  #settled = 0
  #lost = 0
  #told = false
  #toldAt = -Infinity

  constructor (options: WriteQueueOptions) {
    this.#options = options
  }

  /** Takes a profile, or what makes it and how many bytes that holds; false when too much is waiting. */
  add (token: string, source: Source, bytes = 0): boolean {
    const known = this.#waiting.get(token)
    const { maxWaiting, maxWaitingBytes = MAX_WAITING_BYTES } = this.#options
    const tooMany = known === undefined && this.#waiting.size + this.#batch.size >= maxWaiting
    // One alone may be as large as it likes.
    if (tooMany || (this.#bytes > 0 && this.#bytes + bytes > maxWaitingBytes)) {
      this.counters.dropped++
      this.#lose('more are waiting to be written than profiler.maxQueue allows; the store is too slow')
      return false
    }
    if (known === undefined) this.#taken++
    this.#bytes += bytes - (known?.bytes ?? 0)
    this.#waiting.set(token, { source, bytes })
    if (typeof source === 'function') this.#makeSoon(token)
    if (this.#writing === null) this.#schedule()
    return true
  }

  /** How many are not written yet. */
  get waiting (): number {
    return this.#waiting.size + this.#batch.size
  }

  /** Whether the store has not come back from a write for that long (ms). */
  isStuck (patience: number): boolean {
    return this.#writingSince !== 0 && performance.now() - this.#writingSince > patience
  }

  has (token: string): boolean {
    return this.#waiting.has(token) || this.#batch.has(token)
  }

  /** A profile that is not written yet. */
  get (token: string): Draft | undefined {
    return this.#made(token) ?? this.#batch.get(token)
  }

  /** Resolves when all that was taken before has been written or given up, or when the time (ms) is over. */
  async flush (timeout = Infinity): Promise<void> {
    const end = this.#taken
    const written = this.#flushTo(end)
    if (timeout === Infinity) return await written
    const over = new AbortController()
    await Promise.race([written, sleep(timeout, undefined, { signal: over.signal }).catch(() => {})])
    over.abort()
  }

  async #flushTo (end: number): Promise<void> {
    while (this.#settled < end) await (this.#writing ?? this.#write())
  }

  // What a profile is made of, the request and all that it holds, is let go of behind its response: to keep it for the batch would cost memory, and time to collect it.
  #makeSoon (token: string): void {
    if (this.#unmade.push(token) === 1) setImmediate(() => this.#makeSome())
  }

  #makeSome (): void {
    const since = performance.now()
    let done = 0
    while (done < this.#unmade.length && performance.now() - since < PATIENCE) this.#made(this.#unmade[done++] ?? '')
    this.#unmade.splice(0, done)
    if (this.#unmade.length > 0) setImmediate(() => this.#makeSome())
  }

  #schedule (): void {
    if (this.#timer !== null && this.#waiting.size !== BATCH) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (this.#writing === null && this.#waiting.size > 0) this.#write()
    }, this.#waiting.size >= BATCH ? 0 : DELAY)
    // A process that has nothing else to do ends; who closes the application has all written.
    this.#timer.unref()
  }

  #write (): Promise<void> {
    this.#writing = this.#writeBatch().finally(() => {
      this.#writing = null
      if (this.#waiting.size > 0) this.#schedule()
    })
    return this.#writing
  }

  async #writeBatch (): Promise<void> {
    const batch = new Map<string, Draft>()
    this.#batch = batch
    let taken = 0
    let bytes = 0
    let since = performance.now()
    for (const [token, waiting] of this.#waiting) {
      if (taken === MAX_BATCH) break
      const profile = this.#prepared(token)
      // One that could not be made is out of the queue already.
      if (this.#waiting.delete(token)) {
        taken++
        bytes += waiting.bytes
      }
      if (profile !== undefined) batch.set(token, profile)
      if (performance.now() - since < PATIENCE) continue
      await turn()
      since = performance.now()
    }
    try {
      this.#writingSince = performance.now()
      if (batch.size > 0) await this.#options.write([...batch.values()])
      this.counters.written += batch.size
      if (batch.size > 0) this.#recover()
    } catch (error) {
      this.counters.failed += batch.size
      this.#lose('the store failed', error, batch.size)
    } finally {
      this.#writingSince = 0
      this.#batch = new Map()
      this.#bytes -= bytes
      this.#settled += taken
    }
  }

  #prepared (token: string): Draft | undefined {
    const profile = this.#made(token)
    try {
      return profile && this.#options.prepare(profile)
    } catch (error) {
      this.counters.failed++
      this.#lose('their data cannot be read', error)
      return undefined
    }
  }

  // A profile that cannot be made costs only itself.
  #made (token: string): Draft | undefined {
    const waiting = this.#waiting.get(token)
    if (typeof waiting?.source !== 'function') return waiting?.source
    try {
      const profile = waiting.source()
      waiting.source = profile
      return profile
    } catch (error) {
      this.#waiting.delete(token)
      this.#bytes -= waiting.bytes
      this.#settled++
      this.counters.failed++
      this.#lose('one could not be made', error)
      return undefined
    }
  }

  #lose (why: string, error?: unknown, count = 1): void {
    this.#lost += count
    this.lastLoss = error === undefined ? `${why}.` : `${why}: ${error instanceof Error ? error.message : String(error)}`
    const { quiet = 60_000, warn } = this.#options
    if (this.#told || performance.now() - this.#toldAt < quiet) return
    this.#told = true
    this.#toldAt = performance.now()
    warn(`Profiles are lost: ${why}.`, error)
  }

  #recover (): void {
    if (this.#told) this.#options.warn(`Profiles are kept again; ${counted(this.#lost, 'was', 'were')} lost.`)
    this.#told = false
    this.#lost = 0
  }
}
