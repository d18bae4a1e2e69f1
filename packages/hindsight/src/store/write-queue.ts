import { setImmediate, setTimeout } from 'node:timers'
import { getHeapStatistics } from 'node:v8'
import { settlesWithin } from '../call.js'
import { messageOf } from '../errors/thrown-value.js'
import { formatSize } from '../view/components.js'
import { formatCount } from '../view/text.js'
import type { ProfileRecord } from './summary.js'

export interface WriteCounters {
  written: number
  /** Not queued: the queue was full. */
  dropped: number
  /** Queued, but building them or writing them failed. */
  failed: number
}

/** Receives one message when profiles begin to be lost and one when they are written again, not each loss. */
export type Warn = (message: string, error?: unknown) => void

export interface WriteQueueOptions {
  put: (records: readonly ProfileRecord[]) => Promise<void> | void
  /** The number of profiles that may wait; further ones are dropped and counted. */
  maxWaiting: number
  /** The bytes of JSON that may wait; default: 64 MiB, or an eighth of the heap's limit. */
  maxWaitingBytes?: number
  warn: Warn
  /** Milliseconds from one warning of losses to the next; default: one minute. */
  warnInterval?: number
}

/** Milliseconds from the first profile of a batch to its writing: to build each alone takes a third longer. */
const DELAY = 20
const BATCH = 256
/** Profiles that wait to be built: requests that wait for long are copied by the garbage collector. */
const MAX_UNBUILT = 16
/** Milliseconds of one turn of the event loop in which profiles are built. */
const MAX_BUILDING = 10
const MAX_WAITING_BYTES = Math.min(64 * 1024 * 1024, getHeapStatistics().heap_size_limit / 8)

/** A queue that builds the records of profiles after the responses, and writes them in batches. */
export class WriteQueue {
  readonly counters: WriteCounters = { written: 0, dropped: 0, failed: 0 }
  /** The reason of the last loss; empty where there was none. */
  lastLoss = ''
  /** Milliseconds since the epoch of the first loss by the store since it wrote the last batch; null: none. */
  failingSince: number | null = null
  readonly #options: WriteQueueOptions
  /** Separate from the records, which wait longer and do not reference requests. */
  #unbuilt = new Map<string, () => ProfileRecord>()
  /** By token, oldest first; those that are being written, too. */
  #waiting = new Map<string, ProfileRecord>()
  #writing: Promise<void> | undefined
  #isScheduled = false
  #isUrgent = false
  /** Characters of the JSON that waits. */
  #bytes = 0
  /** Losses since the last batch that was written. */
  #lost = 0
  #isReported = false
  #reportedAt = -Infinity

  constructor (options: WriteQueueOptions) {
    this.#options = options
  }

  get waiting (): number {
    return this.#unbuilt.size + this.#waiting.size
  }

  /**
   * Adds a function that builds a record; false when the queue is full. It is called after 20 ms, with others, or in
   * the next turn of the event loop where 16 wait, or where the application may change what it reads.
   */
  add (token: string, build: () => ProfileRecord, isUrgent = false): boolean {
    const { maxWaiting, maxWaitingBytes = MAX_WAITING_BYTES } = this.#options
    const isFull = this.waiting >= maxWaiting && !this.#waiting.has(token) && !this.#unbuilt.has(token)
    if (isFull || this.#bytes > maxWaitingBytes) {
      this.counters.dropped++
      const what = isFull ? 'as many as profiler.maxQueue allows' : `more than ${formatSize(maxWaitingBytes)}`
      this.failingSince ??= Date.now()
      this.#countLost(`${what} are waiting to be written; the store is too slow`)
      return false
    }
    this.#unbuilt.set(token, build)
    this.#schedule()
    if ((isUrgent || this.#unbuilt.size >= MAX_UNBUILT) && !this.#isUrgent) {
      this.#isUrgent = true
      setImmediate(() => {
        this.#isUrgent = false
        this.#build(performance.now() + MAX_BUILDING)
      })
    }
    return true
  }

  get (token: string): ProfileRecord | undefined {
    this.#build()
    return this.#waiting.get(token)
  }

  /** Resolves when all that was added before is written or lost, or when the time (ms) is over. */
  async flush (timeout = Infinity): Promise<void> {
    this.#build()
    const batches = Math.ceil(this.#waiting.size / BATCH) + (this.#writing === undefined ? 0 : 1)
    const written = async (): Promise<void> => {
      for (let i = 0; i < batches; i++) await (this.#writing ?? this.#write())
    }
    await settlesWithin(written(), timeout)
  }

  /** Removes and returns the records of all profiles that are not written yet, for a process that exits. */
  drain (): ProfileRecord[] {
    this.#build()
    const records = [...this.#waiting.values()]
    this.#waiting.clear()
    this.#bytes = 0
    return records
  }

  #build (until = Infinity): void {
    for (const [token, build] of this.#unbuilt) {
      if (performance.now() >= until) break
      this.#unbuilt.delete(token)
      try {
        const record = build()
        // It becomes the newest.
        this.#remove(token)
        this.#waiting.set(token, record)
        this.#bytes += record.json.length
      } catch (error) {
        this.counters.failed++
        this.#countLost('one could not be built', error)
      }
    }
    if (this.#unbuilt.size === 0) this.#unbuilt = new Map()
  }

  #schedule (delay = this.waiting >= BATCH ? 0 : DELAY): void {
    if (this.#isScheduled || this.waiting === 0) return
    this.#isScheduled = true
    // The timer keeps no process alive: a process that exits drains the queue.
    setTimeout(() => {
      this.#isScheduled = false
      this.#build(performance.now() + MAX_BUILDING)
      // Many profiles at once do not block the event loop.
      if (this.#unbuilt.size > 0) this.#schedule(0)
      else if (this.#writing === undefined) this.#write().catch(() => {})
    }, delay).unref()
  }

  #write (): Promise<void> {
    this.#writing = this.#writeBatch().finally(() => {
      this.#writing = undefined
      this.#schedule()
    })
    return this.#writing
  }

  async #writeBatch (): Promise<void> {
    const batch = [...this.#waiting].slice(0, BATCH)
    if (batch.length === 0) return
    try {
      await this.#options.put(batch.map(([, record]) => record))
      this.#wrote(batch.length)
    } catch (error) {
      this.counters.failed += batch.length
      this.failingSince ??= Date.now()
      this.#countLost('the store failed', error, batch.length)
    } finally {
      for (const [token, record] of batch) if (this.#waiting.get(token) === record) this.#remove(token)
      // V8 keeps the deleted entries of a map that is used for long, until a full garbage collection.
      if (this.#waiting.size === 0) this.#waiting = new Map()
    }
  }

  #remove (token: string): void {
    this.#bytes -= this.#waiting.get(token)?.json.length ?? 0
    this.#waiting.delete(token)
  }

  #wrote (count: number): void {
    this.counters.written += count
    if (this.#isReported) {
      this.#options.warn(`Profiles are written again; ${formatCount(this.#lost, 'was', 'were')} lost.`)
    }
    this.#isReported = false
    this.#lost = 0
    this.failingSince = null
  }

  #countLost (reason: string, error?: unknown, count = 1): void {
    const { warn, warnInterval = 60_000 } = this.#options
    this.#lost += count
    this.lastLoss = error === undefined ? `${reason}.` : `${reason}: ${messageOf(error)}`
    if (this.#isReported || performance.now() - this.#reportedAt < warnInterval) return
    this.#isReported = true
    this.#reportedAt = performance.now()
    warn(`Profiles are lost: ${reason}${error === undefined ? '.' : ''}`, error)
  }
}
