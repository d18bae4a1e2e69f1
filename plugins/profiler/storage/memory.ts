import { wholeProfile, type Profile, type ProfileDraft } from '../profile.js'
import { matcher, type Criteria } from './criteria.js'
import { DEFAULT_BOUNDS, FAILURE_SHARE, InvalidCursorError, PINNED_SHARE, TooManyPinnedError } from './storage.js'
import type { ProfilePage, ProfileStorage, SearchOptions, StorageBounds, StorageStats } from './storage.js'
import { indexEntry, type IndexEntry } from './summary.js'

interface Entry extends IndexEntry {
  order: number
  json: Buffer
}

/** What shares a fate: its profiles by token, oldest first. */
class Lane extends Map<string, Entry> {
  bytes = 0

  override set (token: string, entry: Entry): this {
    this.delete(token)
    this.bytes += entry.json.length
    return super.set(token, entry)
  }

  override delete (token: string): boolean {
    this.bytes -= this.get(token)?.json.length ?? 0
    return super.delete(token)
  }

  override clear (): void {
    this.bytes = 0
    super.clear()
  }
}

/** Keeps profiles for the life of the process: for tests, and where nothing may be written. */
export class MemoryStorage implements ProfileStorage {
  readonly #bounds: StorageBounds
  readonly #successes = new Lane()
  readonly #failures = new Lane()
  readonly #pinned = new Lane()
  readonly #lanes = [this.#successes, this.#failures, this.#pinned]
  #order = 0

  constructor (bounds: Partial<StorageBounds> = {}) {
    this.#bounds = { ...DEFAULT_BOUNDS, ...bounds }
  }

  put (profiles: ReadonlyArray<Profile | ProfileDraft>): void {
    for (const profile of profiles) {
      this.#remove(profile.token)
      const entry = { ...indexEntry(profile), order: ++this.#order, json: Buffer.from(JSON.stringify(profile)) }
      // One that would push everything else out is not worth it.
      if (entry.json.length > this.#bounds.maxBytes) continue
      this.#laneOf(entry).set(profile.token, entry)
      this.#evict()
    }
  }

  get (token: string): Profile | undefined {
    const entry = this.#entry(token)
    return entry && wholeProfile(JSON.parse(entry.json.toString()) as Profile)
  }

  has (token: string): boolean {
    return this.#entry(token) !== undefined
  }

  search ({ criteria = {}, limit, cursor, after }: SearchOptions): ProfilePage {
    const before = cursor === undefined ? Infinity : position(cursor)
    const behind = after === undefined ? 0 : position(after)
    // The place of another store, or of one that began anew.
    if (behind > this.#order) throw new InvalidCursorError(after)
    if (cursor !== undefined && before > this.#order) throw new InvalidCursorError(cursor)
    const fits = matcher(criteria)
    const found = this.#entries()
      .filter((entry) => entry.order < before && entry.order > behind && fits(entry))
      .sort((a, b) => b.order - a.order)
    const page = found.slice(0, limit)
    return {
      profiles: page.map((entry) => ({ ...entry.summary })),
      next: found.length > limit ? String(page.at(-1)?.order) : null,
      head: String(this.#order)
    }
  }

  pin (token: string, pinned: boolean): boolean {
    const entry = this.#entry(token)
    if (entry === undefined || entry.summary.pinned === pinned) return entry !== undefined
    if (pinned && this.#isOver(PINNED_SHARE, this.#pinned.size + 1, this.#pinned.bytes + entry.json.length)) throw new TooManyPinnedError(token)
    this.#remove(token)
    entry.summary.pinned = pinned
    const lane = this.#laneOf(entry)
    lane.set(token, entry)
    // One that is let go of takes the place that it had by its age.
    if (!pinned) for (const other of [...lane.values()].filter((one) => one.order > entry.order)) lane.set(other.summary.token, other)
    this.#evict()
    return true
  }

  purge (criteria: Criteria = {}, { pinned = false }: { pinned?: boolean } = {}): number {
    const fits = matcher(criteria)
    const gone = this.#entries().filter((entry) => (pinned || !entry.summary.pinned) && fits(entry))
    for (const { summary } of gone) this.#remove(summary.token)
    return gone.length
  }

  stats (): StorageStats {
    return {
      engine: 'memory',
      place: 'this process',
      profiles: this.#sum((lane) => lane.size),
      bytes: this.#sum((lane) => lane.bytes),
      failures: this.#entries().filter((entry) => entry.summary.error).length,
      pinned: this.#pinned.size,
      ...this.#bounds
    }
  }

  close (): void {
    for (const lane of this.#lanes) lane.clear()
  }

  #entry (token: string): Entry | undefined {
    return this.#failures.get(token) ?? this.#successes.get(token) ?? this.#pinned.get(token)
  }

  #entries (): Entry[] {
    return this.#lanes.flatMap((lane) => [...lane.values()])
  }

  #laneOf ({ summary }: Entry): Lane {
    return summary.pinned ? this.#pinned : summary.error ? this.#failures : this.#successes
  }

  #sum (of: (lane: Lane) => number): number {
    return this.#lanes.reduce((sum, lane) => sum + of(lane), 0)
  }

  #evict (): void {
    while (this.#isOver(1, this.#sum((lane) => lane.size), this.#sum((lane) => lane.bytes))) {
      const failuresHaveTooMuch = this.#successes.size === 0 ||
        (this.#failures.size > 1 && this.#isOver(FAILURE_SHARE, this.#failures.size, this.#failures.bytes))
      const [oldest] = failuresHaveTooMuch ? this.#failures.keys() : this.#successes.keys()
      if (oldest === undefined) return
      this.#remove(oldest)
    }
  }

  #isOver (share: number, profiles: number, bytes: number): boolean {
    return profiles > this.#bounds.maxProfiles * share || bytes > this.#bounds.maxBytes * share
  }

  #remove (token: string): void {
    for (const lane of this.#lanes) lane.delete(token)
  }
}

function position (cursor: string): number {
  if (/^(?:0|[1-9]\d{0,14})$/.test(cursor)) return Number(cursor)
  throw new InvalidCursorError(cursor)
}
