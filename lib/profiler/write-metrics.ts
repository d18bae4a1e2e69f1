import { counted } from '../view/counted.js'

export interface WriteCounters {
  written: number
  /** Not queued: too many were waiting. */
  dropped: number
  /** Queued, but they could not be built, or the store refused them. */
  failed: number
}

/** Receives when profiles begin to be lost and when they are written again, not each loss. */
export type Warn = (message: string, error?: unknown) => void

/** Counts written and lost profiles, and warns of losses. */
export class WriteMetrics {
  readonly counters: WriteCounters = { written: 0, dropped: 0, failed: 0 }
  /** Why profiles were lost, the last time; empty where none was. */
  lastLoss = ''
  readonly #warn: Warn
  readonly #quiet: number
  #lost = 0
  #isReported = false
  #reportedAt = -Infinity

  /** `quiet`: milliseconds from one warning to the next, however often losses begin and end. */
  constructor (warn: Warn, quiet = 60_000) {
    this.#warn = warn
    this.#quiet = quiet
  }

  dropped (why: string): void {
    this.counters.dropped++
    this.#lose(why, undefined, 1)
  }

  failed (why: string, error: unknown, count = 1): void {
    this.counters.failed += count
    this.#lose(why, error, count)
  }

  written (count: number): void {
    this.counters.written += count
    if (this.#isReported) this.#warn(`Profiles are written again; ${counted(this.#lost, 'was', 'were')} lost.`)
    this.#isReported = false
    this.#lost = 0
  }

  #lose (why: string, error: unknown, count: number): void {
    this.#lost += count
    this.lastLoss = error === undefined ? `${why}.` : `${why}: ${error instanceof Error ? error.message : String(error)}`
    if (this.#isReported || performance.now() - this.#reportedAt < this.#quiet) return
    this.#isReported = true
    this.#reportedAt = performance.now()
    this.#warn(`Profiles are lost: ${why}.`, error)
  }
}
