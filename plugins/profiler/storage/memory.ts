import type { Profile } from '../profile.js'
import { InvalidCursorError, summarize } from './storage.js'
import type { ListOptions, ProfilePage, ProfileStorage, ProfileSummary } from './storage.js'

/** How much a process may keep in its memory. */
export interface MemoryStorageOptions {
  maxProfiles?: number
  /** Of the profiles as JSON in UTF-8. */
  maxBytes?: number
}

interface Entry {
  order: number
  summary: ProfileSummary
  json: Buffer
}

// Failures outlive successes, but not so far that a service which always fails shows no success any more.
const FAILURE_SHARE = 0.8

/** Keeps profiles for the life of the process: for tests, and where nothing may be written. */
export class MemoryStorage implements ProfileStorage {
  readonly #maxProfiles: number
  readonly #maxBytes: number
  readonly #successes = new Map<string, Entry>()
  readonly #failures = new Map<string, Entry>()
  #order = 0
  #bytes = 0
  #failureBytes = 0

  constructor ({ maxProfiles = 500, maxBytes = 32 * 1024 * 1024 }: MemoryStorageOptions = {}) {
    this.#maxProfiles = maxProfiles
    this.#maxBytes = maxBytes
  }

  put (profiles: readonly Profile[]): void {
    for (const profile of profiles) {
      this.#remove(profile.token)
      const entry = { order: ++this.#order, summary: summarize(profile), json: Buffer.from(JSON.stringify(profile)) }
      const kept = entry.summary.error ? this.#failures : this.#successes
      // One that would push everything else out is not worth it.
      if (entry.json.length > this.#maxBytes) continue
      kept.set(profile.token, entry)
      this.#bytes += entry.json.length
      if (entry.summary.error) this.#failureBytes += entry.json.length
      this.#evict()
    }
  }

  get (token: string): Profile | undefined {
    const entry = this.#failures.get(token) ?? this.#successes.get(token)
    return entry && JSON.parse(entry.json.toString()) as Profile
  }

  has (token: string): boolean {
    return this.#failures.has(token) || this.#successes.has(token)
  }

  list ({ limit, cursor }: ListOptions): ProfilePage {
    if (cursor !== undefined && !/^[1-9]\d{0,14}$/.test(cursor)) throw new InvalidCursorError(cursor)
    const before = cursor === undefined ? Infinity : Number(cursor)
    const entries = [...this.#successes.values(), ...this.#failures.values()]
      .filter(entry => entry.order < before)
      .sort((a, b) => b.order - a.order)
    const page = entries.slice(0, limit)
    return {
      profiles: page.map(entry => entry.summary),
      next: entries.length > limit ? String(page.at(-1)?.order) : null
    }
  }

  latest ({ error = false }: { error?: boolean } = {}): ProfileSummary | undefined {
    const candidates = error ? [this.#failures] : [this.#failures, this.#successes]
    return candidates
      .map(entries => [...entries.values()].at(-1))
      .filter(entry => entry !== undefined)
      .sort((a, b) => b.order - a.order)[0]?.summary
  }

  close (): void {
    this.#successes.clear()
    this.#failures.clear()
    this.#bytes = this.#failureBytes = 0
  }

  #evict (): void {
    while (this.#isOver(1, this.#failures.size + this.#successes.size, this.#bytes)) {
      const failuresHaveTooMuch = this.#successes.size === 0 ||
        (this.#failures.size > 1 && this.#isOver(FAILURE_SHARE, this.#failures.size, this.#failureBytes))
      const [oldest] = failuresHaveTooMuch ? this.#failures.keys() : this.#successes.keys()
      if (oldest !== undefined) this.#remove(oldest)
    }
  }

  #isOver (share: number, profiles: number, bytes: number): boolean {
    return profiles > this.#maxProfiles * share || bytes > this.#maxBytes * share
  }

  #remove (token: string): void {
    const entry = this.#failures.get(token) ?? this.#successes.get(token)
    if (entry === undefined) return
    this.#bytes -= entry.json.length
    if (entry.summary.error) this.#failureBytes -= entry.json.length
    this.#failures.delete(token)
    this.#successes.delete(token)
  }
}
