import { setImmediate, setTimeout } from 'node:timers'
import { messageOf } from '../errors/thrown-value.js'
import { counted } from '../view/visible.js'
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
  /** Writes a batch. */
  put: (records: readonly ProfileRecord[]) => Promise<void> | void
  /** The number of profiles that may wait; further ones are dropped and counted. */
  maxWaiting: number
  /** The bytes of JSON that may wait; default: 64 MiB. */
  maxWaitingBytes?: number
  warn: Warn
  /** Milliseconds from one warning of losses to the next; default: one minute. */
  warnInterval?: number
}

/** Milliseconds from the first profile of a batch to its writing: others join it. */
const DELAY = 20
const BATCH = 256
/** Milliseconds of one turn of the event loop in which profiles are built. */
const MAX_BUILDING = 50
const MAX_WAITING_BYTES = 64 * 1024 * 1024

/** A profile whose record is built in the turn of the event loop after its response. */
interface PendingProfile {
  token: string
  build: () => ProfileRecord
}

/** A queue that builds the records of profiles after the responses, and writes them in batches. */
export class WriteQueue {
  readonly counters: WriteCounters = { written: 0, dropped: 0, failed: 0 }
  /** The reason of the last loss; empty where there was none. */
  lastLoss = ''
  readonly #options: WriteQueueOptions
  /** Separate from the records, which wait longer and do not reference requests. */
  readonly #unbuilt: PendingProfile[] = []
  /** By token, oldest first. */
  #waiting = new Map<string, ProfileRecord>()
  /** What is being written. */
  #batch = new Map<string, ProfileRecord>()
  #writing: Promise<void> | undefined
  #isScheduled = false
  /** Bytes of the JSON that waits or is being written. */
  #bytes = 0
  /** Losses since the last batch that was written. */
  #lost = 0
  #isReported = false
  #reportedAt = -Infinity

  constructor (options: WriteQueueOptions) {
    this.#options = options
  }

  /** The number of profiles that are not written yet. */
  get waiting (): number {
    return this.#unbuilt.length + this.#waiting.size + this.#batch.size
  }

  /** Adds a function that builds a record; false when the queue is full. */
  add (token: string, build: () => ProfileRecord): boolean {
    const { maxWaiting, maxWaitingBytes = MAX_WAITING_BYTES } = this.#options
    const isFull = this.waiting >= maxWaiting &&
      !this.#waiting.has(token) && !this.#unbuilt.some((one) => one.token === token)
    if (isFull || this.#bytes > maxWaitingBytes) {
      this.counters.dropped++
      const what = isFull ? 'as many as profiler.maxQueue allows' : `more than ${maxWaitingBytes} bytes`
      this.#countLost(`${what} are waiting to be written; the store is too slow`)
      return false
    }
    if (this.#unbuilt.length === 0) this.#buildNext()
    this.#unbuilt.push({ token, build })
    return true
  }

  /** The record of a profile that is not written yet. */
  get (token: string): ProfileRecord | undefined {
    this.#build()
    return this.#waiting.get(token) ?? this.#batch.get(token)
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

  /** Removes and returns the records of all profiles that wait, for a process that exits. */
  drain (): ProfileRecord[] {
    this.#build()
    const records = [...this.#waiting.values()]
    this.#waiting.clear()
    return records
  }

  // Many profiles at once do not block the event loop.
  #buildNext (): void {
    setImmediate(() => {
      this.#build(performance.now() + MAX_BUILDING)
      if (this.#unbuilt.length > 0) this.#buildNext()
    })
  }

  #build (until = Infinity): void {
    let pending: PendingProfile | undefined
    while (performance.now() < until && (pending = this.#unbuilt.shift()) !== undefined) {
      const { token, build } = pending
      try {
        const record = build()
        this.#bytes += record.json.length - (this.#waiting.get(token)?.json.length ?? 0)
        // It becomes the newest.
        this.#waiting.delete(token)
        this.#waiting.set(token, record)
      } catch (error) {
        this.counters.failed++
        this.#countLost('one could not be built', error)
      }
    }
    this.#schedule()
  }

  #schedule (): void {
    if (this.#isScheduled || this.#writing !== undefined || this.#waiting.size === 0) return
    this.#isScheduled = true
    // The timer keeps no process alive: a process that exits drains the queue.
    setTimeout(() => {
      this.#isScheduled = false
      if (this.#writing === undefined) this.#write().catch(() => {})
    }, this.#waiting.size >= BATCH ? 0 : DELAY).unref()
  }

  #write (): Promise<void> {
    this.#writing = this.#writeBatch().finally(() => {
      this.#writing = undefined
      this.#schedule()
    })
    return this.#writing
  }

  async #writeBatch (): Promise<void> {
    for (const [token, record] of this.#waiting) {
      if (this.#batch.size >= BATCH) break
      this.#batch.set(token, record)
      this.#waiting.delete(token)
    }
    // V8 keeps the deleted entries of a map that is used for long, until a full garbage collection.
    if (this.#waiting.size === 0) this.#waiting = new Map()
    const records = [...this.#batch.values()]
    if (records.length === 0) return
    try {
      await this.#options.put(records)
      this.#wrote(records.length)
    } catch (error) {
      this.counters.failed += records.length
      this.#countLost('the store failed', error, records.length)
    } finally {
      for (const { json } of records) this.#bytes -= json.length
      this.#batch = new Map()
    }
  }

  #wrote (count: number): void {
    this.counters.written += count
    if (this.#isReported) {
      this.#options.warn(`Profiles are written again; ${counted(this.#lost, 'was', 'were')} lost.`)
    }
    this.#isReported = false
    this.#lost = 0
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

/** Whether a promise is fulfilled within `timeout` milliseconds; rejects where the promise does. */
export async function settlesWithin (promise: Promise<unknown>, timeout: number): Promise<boolean> {
  if (timeout === Infinity) return await promise.then(() => true)
  let timer: NodeJS.Timeout | undefined
  // The timers of `node:timers` also run where a test mocks the global ones.
  const over = new Promise<boolean>((resolve) => { timer = setTimeout(resolve, timeout, false) })
  try {
    return await Promise.race([promise.then(() => true), over])
  } finally {
    clearTimeout(timer)
  }
}
