import type { Profile } from './profile.js'
import { matcher, type Criteria } from './criteria.js'
import { emptyTotals, groupToEvict, mayPin, sumOf, type RetentionGroup, type Totals } from './retention.js'
import { DEFAULT_BOUNDS, rangeOf, TooManyPinnedError } from './storage.js'
import type { ProfilePage, ProfileStorage, SearchOptions, StorageBounds, StorageStats } from './storage.js'
import type { ProfileRecord } from './summary.js'

interface Entry extends ProfileRecord {
  seq: number
  bytes: number
}

/** Stores profiles in a `Map` of this process: the store `memory`, and the shortest complete example of a store. */
export class MemoryStorage implements ProfileStorage {
  readonly #bounds: StorageBounds
  /** By token, oldest first. */
  readonly #entries = new Map<string, Entry>()
  #head = 0

  constructor (bounds: Partial<StorageBounds> = {}) {
    this.#bounds = { ...DEFAULT_BOUNDS, ...bounds }
  }

  put (profiles: readonly ProfileRecord[]): void {
    for (const { summary, exceptions, json, keepsPlace = false } of profiles) {
      const bytes = Buffer.byteLength(json)
      const { summary: known, seq } = this.#entries.get(summary.token) ?? {}
      if (bytes > this.#bounds.maxBytes || (known?.pinned === true && known.time !== summary.time)) continue
      const place = keepsPlace ? seq : undefined
      if (place === undefined) this.#entries.delete(summary.token)
      const shown = { ...summary, pinned: known?.pinned === true }
      this.#entries.set(summary.token, { summary: shown, exceptions, json, bytes, seq: place ?? ++this.#head })
    }
    this.#evict()
  }

  get (token: string): Profile | undefined {
    const entry = this.#entries.get(token)
    return entry && JSON.parse(entry.json) as Profile
  }

  search (options: SearchOptions): ProfilePage {
    const { criteria = {}, limit } = options
    const { seq: [above, below], column, isDescending, mayContinue } = rangeOf(options, this.#head)
    const matches = matcher(criteria)
    const valueOf = (entry: Entry): number => column === 'seq' ? entry.seq : entry.summary[column]
    const found = [...this.#entries.values()]
      .filter((entry) => entry.seq > above && entry.seq < below && matches(entry))
      .sort((a, b) => valueOf(a) - valueOf(b) || a.seq - b.seq)
    if (isDescending) found.reverse()
    const page = found.slice(0, limit)
    const next = mayContinue && found.length > limit ? String(page.at(-1)?.seq) : null
    return { profiles: page.map(({ summary }) => ({ ...summary })), next, head: String(this.#head) }
  }

  pin (token: string, pinned: boolean): boolean {
    const entry = this.#entries.get(token)
    if (entry === undefined || entry.summary.pinned === pinned) return entry !== undefined
    if (pinned && !mayPin(this.#totals(), entry.bytes, this.#bounds)) throw new TooManyPinnedError(token)
    entry.summary.pinned = pinned
    return true
  }

  purge (criteria: Criteria = {}): number {
    const matches = matcher(criteria)
    const found = [...this.#entries.values()].filter((entry) => !entry.summary.pinned && matches(entry))
    for (const { summary } of found) this.#entries.delete(summary.token)
    return found.length
  }

  stats (): StorageStats {
    const totals = this.#totals()
    const failures = [...this.#entries.values()].filter(({ summary }) => summary.error).length
    const counts = { ...sumOf(totals), failures, pinned: totals.pinned.profiles }
    return { engine: 'memory', place: 'this process', ...counts, ...this.#bounds }
  }

  close (): void {}

  #evict (): void {
    const totals = this.#totals()
    for (let group; (group = groupToEvict(totals, this.#bounds)) !== null;) {
      for (const { summary, bytes } of this.#entries.values()) {
        if (groupOf(summary) !== group) continue
        this.#entries.delete(summary.token)
        totals[group].profiles--
        totals[group].bytes -= bytes
        if (groupToEvict(totals, this.#bounds) !== group) break
      }
    }
  }

  #totals (): Totals {
    const totals = emptyTotals()
    for (const { summary, bytes } of this.#entries.values()) {
      const amount = totals[groupOf(summary)]
      amount.profiles++
      amount.bytes += bytes
    }
    return totals
  }
}

function groupOf ({ pinned, error }: ProfileRecord['summary']): RetentionGroup {
  if (pinned) return 'pinned'
  return error ? 'failure' : 'success'
}
