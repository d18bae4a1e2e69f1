import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { Profiler } from '../profiler.js'
import { LimitedMap } from '../../lifecycle/limited-map.js'
import type { CspViolation } from './read-report.js'

/** Milliseconds: what one page violates comes in many reports, and its profile is written once for them. */
const DELAY = 250
/** A page that is still sent has no profile yet. */
const MAX_TRIES = 20
const MAX_PAGES = 200
const MAX_WAITING = 100
const CLOSE_PATIENCE = 1_000

interface Waiting {
  violations: CspViolation[]
  tries: number
}

declare module '../../lifecycle/services.js' {
  interface Services {
    /** Reports of policy violations; only where the pages of the profiler are. */
    cspReports?: {
      /** The address for reports about the page that the response is; null where there is none. */
      uriOf: (request: FastifyRequest) => string | null
    }
  }
}

/** Takes reports at once, and attaches them to the profiles of their pages a moment later. */
export class ReportInbox {
  readonly #profiler: Pick<Profiler, 'find' | 'amend'>
  readonly #expected = new LimitedMap<true>(5_000, 100_000)
  readonly #waiting = new Map<string, Waiting>()
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> | null = null

  constructor (profiler: Pick<Profiler, 'find' | 'amend'>) {
    this.#profiler = profiler
  }

  /** Remembers the token of a page that was told where to report to. */
  expect (token: string): void {
    this.#expected.set(token, true)
  }

  /** Whether there is a page of that token; its profile may come later than its reports. */
  async knows (token: string): Promise<boolean> {
    return this.#expected.get(token) === true || await this.#profiler.find(token) !== undefined
  }

  /** Takes violations of a page; false where too much is waiting. */
  add (token: string, violations: readonly CspViolation[]): boolean {
    const known = this.#waiting.get(token)
    if ((known === undefined && this.#waiting.size >= MAX_PAGES) || (known?.violations.length ?? 0) >= MAX_WAITING) return false
    this.#waiting.set(token, { violations: [...known?.violations ?? [], ...violations].slice(0, MAX_WAITING), tries: known?.tries ?? 0 })
    this.#schedule()
    return true
  }

  /** Attaches what is waiting, where there is a profile already. */
  async flush (): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    // One writer at a time: each reads what the one before has written.
    await this.#writing
    this.#writing = this.#attachAll()
    await this.#writing
    this.#writing = null
    if (this.#waiting.size > 0) this.#schedule()
  }

  /** Attaches what can be, and gives up the rest. */
  async close (): Promise<void> {
    // A store that hangs must not keep the process from ending.
    const over = new AbortController()
    await Promise.race([this.flush(), sleep(CLOSE_PATIENCE, undefined, { signal: over.signal }).catch(() => {})])
    over.abort()
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#waiting.clear()
  }

  async #attachAll (): Promise<void> {
    if (this.#waiting.size === 0) return
    const { withViolations } = await import('./attach.js')
    for (const [token, { violations, tries }] of [...this.#waiting]) {
      this.#waiting.delete(token)
      const attached = await this.#profiler.amend(token, (profile) => withViolations(profile, violations)).catch(() => false)
      if (attached || tries >= MAX_TRIES) continue
      const later = this.#waiting.get(token)?.violations ?? []
      this.#waiting.set(token, { violations: [...violations, ...later].slice(0, MAX_WAITING), tries: tries + 1 })
    }
  }

  #schedule (): void {
    if (this.#timer !== null) return
    this.#timer = setTimeout(() => { this.flush().catch(() => {}) }, DELAY)
    this.#timer.unref()
  }
}
