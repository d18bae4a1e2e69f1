import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { Batch } from './batch.js'
import { Losses, type Warn, type WriteCounters } from './losses.js'
import type { Profile, ProfileDraft } from './profile.js'
import type { ProfileBatch } from './storage/storage.js'

export type { Warn, WriteCounters } from './losses.js'

export interface WriteQueueOptions {
  /** Begins the batch that profiles are packed into as they come. */
  open: () => ProfileBatch
  /** Makes a profile ready to be packed. */
  prepare: (profile: Draft) => Draft
  /** Told the tokens of what was written. */
  written?: (tokens: ReadonlySet<string>) => void
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
  /** How many were taken up to it. */
  number: number
  /** What it is made of; null once it is in the open batch. */
  source: Source | null
  /** What it keeps from being collected, about. */
  bytes: number
}

/** Milliseconds from the first profile of a batch to its writing: what one request makes others join. */
const DELAY = 25
/** So many do not wait for others. A store that is slower than the requests gets more at a time. */
const BATCH = 256
/** Milliseconds of work at a time, so that it is not felt by requests that come meanwhile. */
const PATIENCE = 1
/** So many that have come at once are worth as much again: who is too busy to pack would lose them. */
const CROWD = 16
const MAX_WAITING_BYTES = 64 * 1024 * 1024

/** Takes profiles at once, packs them behind their responses and writes them later, in batches, whatever the store does meanwhile. */
export class WriteQueue {
  readonly #options: WriteQueueOptions
  readonly #losses: Losses
  /** Oldest first. */
  readonly #waiting = new Map<string, Waiting>()
  /** Those that have not been looked at since they came, oldest first. */
  #unpacked: string[] = []
  #isPacking = false
  /** What is packed, and not yet being written. */
  #open: Batch | null = null
  /** What is being written. */
  #batch: Batch | null = null
  #writing: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #writingSince = 0
  #bytes = 0
  #taken = 0

  constructor (options: WriteQueueOptions) {
    this.#options = options
    this.#losses = new Losses(options.warn, options.quiet ?? 60_000)
  }

  get counters (): Readonly<WriteCounters> {
    return this.#losses.counters
  }

  /** Why profiles were lost, the last time; empty where none was. */
  get lastLoss (): string {
    return this.#losses.last
  }

  /** How many are not written yet. */
  get waiting (): number {
    return this.#waiting.size + (this.#batch?.tokens.size ?? 0)
  }

  /** Takes a profile, or what makes it and how many bytes that holds; false when too much is waiting. */
  add (token: string, source: Source, bytes = 0): boolean {
    const known = this.#waiting.get(token)
    const { maxWaiting, maxWaitingBytes = MAX_WAITING_BYTES } = this.#options
    // One alone may be as large as it likes.
    if ((known === undefined && this.waiting >= maxWaiting) || (this.#bytes > 0 && this.#bytes + bytes > maxWaitingBytes)) {
      this.#losses.dropped('more are waiting to be written than profiler.maxQueue allows; the store is too slow')
      return false
    }
    this.#bytes += bytes - (known?.bytes ?? 0)
    this.#waiting.delete(token)
    this.#waiting.set(token, { number: ++this.#taken, source, bytes })
    this.#unpacked.push(token)
    this.#packSoon()
    if (this.#writing === null) this.#schedule()
    return true
  }

  /** Whether the store has not come back from a write for that long (ms). */
  isStuck (patience: number): boolean {
    return this.#writingSince !== 0 && performance.now() - this.#writingSince > patience
  }

  has (token: string): boolean {
    return this.#waiting.has(token) || this.#batch?.tokens.has(token) === true
  }

  /** A profile that is not written yet. */
  get (token: string): Draft | undefined {
    const waiting = this.#waiting.get(token)
    if (waiting === undefined) return this.#batch?.get(token)
    return waiting.source === null ? this.#open?.get(token) : this.#made(token, waiting)
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
    while (this.#oldest <= end) await (this.#writing ?? this.#write())
  }

  get #oldest (): number {
    const [waiting] = this.#waiting.values()
    return Math.min(waiting?.number ?? Infinity, this.#open?.first ?? Infinity, this.#batch?.first ?? Infinity)
  }

  // What a profile is made of, the request and all that it holds, is let go of behind its response, and what it is made to soon after:
  // what is kept for the batch costs memory, and the collector's time, until it is written.
  #packSoon (): void {
    if (this.#isPacking || this.#unpacked.length === 0) return
    this.#isPacking = true
    setImmediate(() => this.#packSome())
  }

  #packSome (): void {
    const until = performance.now() + PATIENCE * (1 + this.#unpacked.length / CROWD)
    let done = 0
    while (done < this.#unpacked.length && performance.now() < until) this.#pack(this.#unpacked[done++] ?? '')
    this.#unpacked.splice(0, done)
    this.#isPacking = false
    this.#packSoon()
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
    let since = performance.now()
    for (const token of this.#waiting.keys()) {
      if (!this.#pack(token)) break
      if (performance.now() - since < PATIENCE) continue
      await turn()
      since = performance.now()
    }
    const batch = this.#open
    // Where nothing could be packed.
    if (batch === null || batch.tokens.size === 0) return
    const bytes = this.#close(batch)
    try {
      this.#writingSince = performance.now()
      await batch.write()
      this.#losses.written(batch.tokens.size)
      this.#options.written?.(batch.tokens)
    } catch (error) {
      this.#losses.failed('the store failed', error, batch.tokens.size)
    } finally {
      this.#writingSince = 0
      this.#batch = null
      this.#bytes -= bytes
    }
  }

  // What is packed waits no longer; what is not is the first to be packed next. Says how much is held until it is written.
  #close (batch: Batch): number {
    let bytes = 0
    for (const token of batch.tokens) {
      const waiting = this.#waiting.get(token)
      if (waiting?.source !== null) continue
      bytes += waiting.bytes
      this.#waiting.delete(token)
    }
    this.#batch = batch
    this.#open = null
    this.#unpacked = [...this.#waiting.keys()]
    this.#packSoon()
    return bytes
  }

  /** Whether there is room for more. */
  #pack (token: string): boolean {
    const waiting = this.#waiting.get(token)
    if (waiting === undefined || waiting.source === null) return true
    const profile = this.#made(token, waiting)
    // One that has come again goes with the next batch.
    if (profile === undefined || this.#open?.tokens.has(token) === true) return true
    try {
      this.#open ??= new Batch(this.#options.open())
      if (this.#open.isFull) return false
    } catch (error) {
      this.#giveUp(token, waiting, 'the store failed', error)
      return true
    }
    try {
      this.#open.add(token, waiting.number, this.#options.prepare(profile))
    } catch (error) {
      this.#giveUp(token, waiting, 'their data cannot be read', error)
      return true
    }
    waiting.source = null
    if (this.#open.holdsObjects) return true
    this.#bytes -= waiting.bytes
    waiting.bytes = 0
    return true
  }

  #made (token: string, waiting: Waiting): Draft | undefined {
    if (typeof waiting.source !== 'function') return waiting.source ?? undefined
    try {
      return (waiting.source = waiting.source())
    } catch (error) {
      this.#giveUp(token, waiting, 'one could not be made', error)
      return undefined
    }
  }

  // A profile that cannot be made costs only itself; the one before may be packed already.
  #giveUp (token: string, waiting: Waiting, why: string, error: unknown): void {
    this.#bytes -= waiting.bytes
    waiting.bytes = 0
    if (this.#open?.tokens.has(token) === true) waiting.source = null
    else this.#waiting.delete(token)
    this.#losses.failed(why, error)
  }
}
