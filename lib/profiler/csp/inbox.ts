import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { Profiler } from '../profiler.js'
import { settlesWithin } from '../write-queue.js'
import { withViolations, type CspViolation } from './reports.js'

declare module '../../lifecycle/services.js' {
  interface Services {
    /** Reports of policy violations; only where the pages of the profiler are. */
    cspReports?: {
      /** The address for reports about the page that the response is; null where there is none. */
      uriOf: (request: FastifyRequest) => string | null
    }
  }
}

/** Milliseconds between two attempts: a page may report before its profile is stored. */
const INTERVAL = 250
const MAX_ATTEMPTS = 20
const CLOSE_TIMEOUT = 1_000
const MAX_QUEUE = 200
const MAX_EXPECTED = 5_000

/** Attaches violations to the profiles of their pages; the reports of one page are attached one by one. */
export class ReportInbox {
  readonly #profiler: Pick<Profiler, 'find' | 'amend'>
  readonly #expected = new Set<string>()
  readonly #closing = new AbortController()
  readonly #last = new Map<string, Promise<void>>()
  #queued = 0

  constructor (profiler: Pick<Profiler, 'find' | 'amend'>) {
    this.#profiler = profiler
  }

  /** Accepts reports for the token before its profile is stored. */
  expect (token: string): void {
    this.#expected.add(token)
    const [oldest] = this.#expected
    if (this.#expected.size > MAX_EXPECTED && oldest !== undefined) this.#expected.delete(oldest)
  }

  /** Whether the token is that of a page, also before its profile is stored. */
  async has (token: string): Promise<boolean> {
    return this.#expected.has(token) || await this.#profiler.find(token) !== undefined
  }

  /** Queues violations of a page; false: the queue is full. */
  add (token: string, violations: readonly CspViolation[]): boolean {
    if (this.#queued >= MAX_QUEUE) return false
    this.#queued++
    const previous = this.#last.get(token) ?? Promise.resolve()
    const attached = previous.then(async () => await this.#attach(token, violations)).finally(() => {
      this.#queued--
      if (this.#last.get(token) === attached) this.#last.delete(token)
    })
    this.#last.set(token, attached)
    return true
  }

  /** Attaches what is queued to profiles that are stored, for at most a second; no longer waits for others. */
  async close (): Promise<void> {
    this.#closing.abort()
    await settlesWithin(Promise.all(this.#last.values()), CLOSE_TIMEOUT)
  }

  async #attach (token: string, violations: readonly CspViolation[]): Promise<void> {
    const { signal } = this.#closing
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const attach = this.#profiler.amend(token, (profile) => withViolations(profile, violations))
      if (await attach.catch(() => false) || signal.aborted) return
      await sleep(INTERVAL, undefined, { signal, ref: false }).catch(() => {})
    }
  }
}
