import { counted } from '../view/counted.js'

export interface WriteCounters {
  written: number
  /** Not taken: too many were waiting already. */
  dropped: number
  /** Taken, but they could not be made, or the store refused them. */
  failed: number
}

/** Told when profiles begin to be lost and when they are kept again, not for each one. */
export type Warn = (message: string, error?: unknown) => void

/** Counts what became of profiles, and warns of those that are lost. */
export class Losses {
  readonly counters: WriteCounters = { written: 0, dropped: 0, failed: 0 }
  /** Why profiles were lost, the last time; empty where none was. */
  last = ''
  readonly #warn: Warn
  readonly #quiet: number
  #lost = 0
  #told = false
  #toldAt = -Infinity

  /** `quiet`: milliseconds from one warning to the next, however often losses begin and end. */
  constructor (warn: Warn, quiet: number) {
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
    if (this.#told) this.#warn(`Profiles are kept again; ${counted(this.#lost, 'was', 'were')} lost.`)
    this.#told = false
    this.#lost = 0
  }

  #lose (why: string, error: unknown, count: number): void {
    this.#lost += count
    this.last = error === undefined ? `${why}.` : `${why}: ${error instanceof Error ? error.message : String(error)}`
    if (this.#told || performance.now() - this.#toldAt < this.#quiet) return
    this.#told = true
    this.#toldAt = performance.now()
    this.#warn(`Profiles are lost: ${why}.`, error)
  }
}
