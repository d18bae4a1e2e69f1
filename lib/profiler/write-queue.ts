import { setImmediate, setTimeout, settlesWithin } from './real-timers.js'
import type { ProfileRecord } from './summary.js'
import { WriteMetrics, type Warn } from './write-metrics.js'

export interface WriteQueueOptions {
  /** Writes a batch. */
  put: (records: readonly ProfileRecord[]) => Promise<void> | void
  /** How many may wait; those above are dropped and counted. */
  maxWaiting: number
  /** How many bytes those that wait may hold, as far as they are known; 64 MiB by default. */
  maxWaitingBytes?: number
  warn: Warn
  /** Milliseconds from one warning of losses to the next; a minute by default. */
  quiet?: number
}

interface Waiting {
  /** In the order in which they were added. */
  number: number
  /** The record, or what builds it. */
  record: ProfileRecord | (() => ProfileRecord)
  /** What it keeps from being collected, about. */
  bytes: number
}

/** Milliseconds from the first profile of a batch to its writing, in which others join it. */
const DELAY = 25
const BATCH = 256
const MAX_WAITING_BYTES = 64 * 1024 * 1024

/** Accepts profiles at once, builds their records after the responses, and writes these in batches. */
export class WriteQueue {
  readonly metrics: WriteMetrics
  readonly #options: WriteQueueOptions
  /** By token, oldest first. */
  readonly #waiting = new Map<string, Waiting>()
  #batch = new Map<string, Waiting>()
  #writing: Promise<void> | null = null
  #isScheduled = false
  #bytes = 0
  #added = 0

  constructor (options: WriteQueueOptions) {
    this.#options = options
    this.metrics = new WriteMetrics(options.warn, options.quiet)
  }

  /** How many are not written yet. */
  get waiting (): number {
    return this.#waiting.size + this.#batch.size
  }

  /** Adds what builds a record, and how many bytes that holds; false when too much is waiting. */
  add (token: string, build: () => ProfileRecord, bytes = 0): boolean {
    const { maxWaiting, maxWaitingBytes = MAX_WAITING_BYTES } = this.#options
    // A single one may be of any size.
    if ((this.waiting >= maxWaiting && !this.#waiting.has(token)) || (this.#bytes > 0 && this.#bytes + bytes > maxWaitingBytes)) {
      this.metrics.dropped('more are waiting to be written than profiler.maxQueue allows; the store is too slow')
      return false
    }
    this.#bytes += bytes - (this.#waiting.get(token)?.bytes ?? 0)
    this.#waiting.delete(token)
    this.#waiting.set(token, { number: ++this.#added, record: build, bytes })
    // Soon after the response: until then it holds the request, and all that belongs to it.
    setImmediate(() => this.#built(token))
    this.#schedule()
    return true
  }

  has = (token: string): boolean => this.#waiting.has(token) || this.#batch.has(token)

  /** The record of a profile that is not written yet. */
  get (token: string): ProfileRecord | undefined {
    return this.#built(token) ?? this.#batch.get(token)?.record as ProfileRecord | undefined
  }

  /** Resolves when all that was added before is written or given up, or when the time (ms) is over. */
  async flush (timeout = Infinity): Promise<void> {
    const last = this.#added
    const written = async (): Promise<void> => { while (this.#oldest <= last) await (this.#writing ?? this.#write()) }
    await settlesWithin(written(), timeout)
  }

  /** The records of all that waits, for a process that exits. */
  drain (): ProfileRecord[] {
    const records = [...this.#waiting.keys()].flatMap((token) => this.#built(token) ?? [])
    this.#waiting.clear()
    return records
  }

  get #oldest (): number {
    const [[waiting], [writing]] = [this.#waiting.values(), this.#batch.values()]
    return Math.min(waiting?.number ?? Infinity, writing?.number ?? Infinity)
  }

  #built (token: string): ProfileRecord | undefined {
    const waiting = this.#waiting.get(token)
    if (typeof waiting?.record !== 'function') return waiting?.record
    try {
      const record = waiting.record = waiting.record()
      this.#bytes += record.json.length - waiting.bytes
      waiting.bytes = record.json.length
      return record
    } catch (error) {
      this.#bytes -= waiting.bytes
      this.#waiting.delete(token)
      this.metrics.failed('one could not be built', error)
    }
  }

  #schedule (): void {
    if (this.#isScheduled || this.#writing !== null || this.#waiting.size === 0) return
    this.#isScheduled = true
    // The timer keeps no process alive: what waits when a process exits is drained.
    setTimeout(() => {
      this.#isScheduled = false
      if (this.#writing === null) this.#write().catch(() => {})
    }, this.#waiting.size >= BATCH ? 0 : DELAY).unref()
  }

  #write (): Promise<void> {
    this.#writing = this.#writeBatch().finally(() => {
      this.#writing = null
      this.#schedule()
    })
    return this.#writing
  }

  async #writeBatch (): Promise<void> {
    const records: ProfileRecord[] = []
    for (const [token, waiting] of this.#waiting) {
      if (records.length >= BATCH) break
      const record = this.#built(token)
      if (record === undefined) continue
      records.push(record)
      this.#batch.set(token, waiting)
      this.#waiting.delete(token)
    }
    if (records.length === 0) return
    try {
      await this.#options.put(records)
      this.metrics.written(records.length)
    } catch (error) {
      this.metrics.failed('the store failed', error, records.length)
    } finally {
      for (const { bytes } of this.#batch.values()) this.#bytes -= bytes
      this.#batch.clear()
    }
  }
}
