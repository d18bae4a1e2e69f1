import type { Profile } from './profile.js'
import { criteriaMatcher, type Criteria } from './criteria.js'
import { DEFAULT_BOUNDS, emptyTotals, groupToEvict, mayPin, rangeOf, sumOf, TooManyPinnedError } from './storage.js'
import type {
  ProfilePage, ProfileStorage, RetentionGroup, SearchOptions, StorageBounds, StorageStats
} from './storage.js'
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
  readonly #totals = emptyTotals()
  #head = 0

  constructor (bounds: Partial<StorageBounds> = {}) {
    this.#bounds = { ...DEFAULT_BOUNDS, ...bounds }
  }

  put (profiles: readonly ProfileRecord[]): void {
    for (const { summary, exceptions, json, keepsPlace = false } of profiles) {
      const bytes = Buffer.byteLength(json)
      const known = this.#entries.get(summary.token)
      const pinned = known?.summary.pinned === true
      if (bytes > this.#bounds.maxBytes || (pinned && known.summary.time !== summary.time)) continue
      const place = keepsPlace ? known?.seq : undefined
      if (known !== undefined) this.#count(known, -1)
      if (place === undefined) this.#entries.delete(summary.token)
      const entry = { summary: { ...summary, pinned }, exceptions, json, bytes, seq: place ?? ++this.#head }
      this.#entries.set(summary.token, entry)
      this.#count(entry, 1)
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
    const matches = criteriaMatcher(criteria)
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
    if (pinned && !mayPin(this.#totals, entry.bytes, this.#bounds)) throw new TooManyPinnedError(token)
    this.#count(entry, -1)
    entry.summary.pinned = pinned
    this.#count(entry, 1)
    return true
  }

  purge (criteria: Criteria = {}): number {
    const matches = criteriaMatcher(criteria)
    const found = [...this.#entries.values()].filter((entry) => !entry.summary.pinned && matches(entry))
    for (const entry of found) this.#remove(entry)
    return found.length
  }

  stats (): StorageStats {
    const failures = [...this.#entries.values()].filter(({ summary }) => summary.error).length
    const counts = { ...sumOf(this.#totals), failures, pinned: this.#totals.pinned.profiles }
    return { engine: 'memory', place: 'this process', ...counts, ...this.#bounds }
  }

  close (): void {}

  #evict (): void {
    for (let group; (group = groupToEvict(this.#totals, this.#bounds)) !== null;) {
      for (const entry of this.#entries.values()) {
        if (groupOf(entry.summary) !== group) continue
        this.#remove(entry)
        if (groupToEvict(this.#totals, this.#bounds) !== group) break
      }
    }
  }

  #remove (entry: Entry): void {
    this.#entries.delete(entry.summary.token)
    this.#count(entry, -1)
  }

  /** Adds an entry to the totals, or subtracts it. */
  #count ({ summary, bytes }: Entry, sign: 1 | -1): void {
    const amount = this.#totals[groupOf(summary)]
    amount.profiles += sign
    amount.bytes += sign * bytes
  }
}

function groupOf ({ pinned, error }: ProfileRecord['summary']): RetentionGroup {
  if (pinned) return 'pinned'
  return error ? 'failure' : 'success'
}
