import type { Profile } from '../profile.js'
import type { Warn } from '../write-metrics.js'
import { counted } from '../../view/counted.js'
import { placeOf, sendTraces, type SendOptions } from './send.js'
import type { OtlpTarget } from './settings.js'
import { traceRequest } from './trace-request.js'

export interface ExportCounters {
  /** Profiles that the collector took. */
  sent: number
  /** Profiles that were not taken: too many were waiting, or the collector refused them. */
  dropped: number
  /** Spans that the collector refused of requests that it took. */
  rejected: number
}

export interface ExporterOptions extends SendOptions {
  target: OtlpTarget
  warn: Warn
  /** How many profiles may wait; 512 by default. */
  maxWaiting?: number
  /** Milliseconds from one look at what waits to the next; 1,000 by default. */
  interval?: number
  /** Milliseconds from one warning to the next; a minute by default. */
  quiet?: number
}

const BATCH = 32
const CLOSE_PATIENCE = 3_000

/** Sends profiles to a collector, in batches behind the responses that they describe; whatever it does, no request waits for it or fails. */
export class OtlpExporter {
  readonly counters: ExportCounters = { sent: 0, dropped: 0, rejected: 0 }
  readonly #options: ExporterOptions
  readonly #stop = new AbortController()
  // Made when the application starts, so that what is sent belongs to no request's asynchronous context.
  readonly #timer: NodeJS.Timeout
  #waiting: Profile[] = []
  #sending: Promise<void> | null = null
  #warnedAt = -Infinity
  #closed = false

  constructor (options: ExporterOptions) {
    this.#options = options
    this.#timer = setInterval(() => { this.#pump() }, options.interval ?? 1_000).unref()
  }

  /** Takes profiles to be sent soon; those that are too many are dropped and counted. */
  add (profiles: readonly Profile[]): void {
    const { maxWaiting = 512 } = this.#options
    const room = this.#closed ? 0 : Math.max(0, maxWaiting - this.#waiting.length)
    this.#waiting.push(...profiles.slice(0, room))
    if (profiles.length > room) this.#lose(profiles.length - room, 'more are waiting than may; the collector is too slow')
  }

  /** Sends what waits, as far as that is done soon, and ends. */
  async close (patience = CLOSE_PATIENCE): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#timer)
    const over = setTimeout(() => this.#stop.abort(), patience)
    await this.#pump()
    clearTimeout(over)
  }

  #pump (): Promise<void> {
    if (this.#sending === null) this.#sending = this.#sendAll().finally(() => { this.#sending = null })
    return this.#sending
  }

  async #sendAll (): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH)
      try {
        if (this.#stop.signal.aborted) throw new Error('the application was closed before they were sent')
        await this.#send(batch)
        this.counters.sent += batch.length
      } catch (error) {
        this.#lose(batch.length, error instanceof Error ? error.message : String(error))
      }
    }
  }

  async #send (batch: readonly Profile[]): Promise<void> {
    const { target, warn, timeout, attempts, backoff } = this.#options
    const { rejected, message } = await sendTraces(traceRequest(batch, target.resource), target, {
      signal: this.#stop.signal,
      ...(timeout !== undefined && { timeout }),
      ...(attempts !== undefined && { attempts }),
      ...(backoff !== undefined && { backoff })
    })
    if (rejected === 0) return
    this.counters.rejected += rejected
    this.#tell(() => warn(`The collector at ${placeOf(target.endpoint)} refused ${counted(rejected, 'span')}${message === '' ? '' : `: ${message}`}`))
  }

  #lose (count: number, why: string): void {
    this.counters.dropped += count
    this.#tell(() => this.#options.warn(`Profiles are not exported: ${why} (${this.counters.dropped} so far)`))
  }

  #tell (say: () => void): void {
    const { quiet = 60_000 } = this.#options
    if (performance.now() - this.#warnedAt < quiet) return
    this.#warnedAt = performance.now()
    say()
  }
}
