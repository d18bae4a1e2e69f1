import { wholeProfile, type Profile, type ProfileDraft } from '../profile.js'
import { matcher, type Criteria } from './criteria.js'
import { DraftBatch } from './draft-batch.js'
import { chunkOf, type Chunk, type Entry } from './memory/chunk.js'
import { Lane } from './memory/lane.js'
import { PackedBatch, type Portion } from './packed-batch.js'
import { readProfile } from './read-chunk.js'
import { DEFAULT_BOUNDS, FAILURE_SHARE, InvalidCursorError, PINNED_SHARE, TooManyPinnedError } from './storage.js'
import type { ProfileBatch, ProfilePage, ProfileStorage, SearchOptions, StorageBounds, StorageStats } from './storage.js'
import { fromLine } from './summary-block.js'

const BATCH = 512
/** A chunk of which less is left is packed anew. */
const LEAST_LEFT = 0.25

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
    for (let at = 0; at < profiles.length; at += BATCH) {
      const batch = this.#packed()
      for (const profile of profiles.slice(at, at + BATCH)) batch.add(profile)
      this.#enter(batch.finish())
    }
  }

  batch (): ProfileBatch {
    // Who has a `put` of their own is told of all that is put.
    return this.put === ownPut ? this.#packed() : new DraftBatch((profiles) => this.put(profiles))
  }

  #packed (): PackedBatch {
    return new PackedBatch(this.#bounds.maxBytes, async (portions) => this.#enter(portions))
  }

  get (token: string): Profile | undefined {
    const entry = this.#entry(token)
    return entry && wholeProfile(readProfile(entry.chunk.data, entry.slot))
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
    // What stays for long holds nobody else.
    const alone = chunkOf([readProfile(entry.chunk.data, entry.slot)])
    const [bytes = 0] = alone.sizes
    if (pinned && this.#isOver(PINNED_SHARE, this.#pinned.size + 1, this.#pinned.bytes + bytes)) throw new TooManyPinnedError(token)
    this.#remove(token)
    Object.assign(entry, { chunk: alone.chunk, slot: 0, bytes })
    alone.chunk.entries.add(entry)
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

  // In the order in which they were taken in, as if each had come alone.
  #enter (portions: readonly Portion[]): void {
    const entered: Array<{ place: number, entry: Entry }> = []
    for (const { chunk: { data, sizes }, lines, places } of portions) {
      const chunk: Chunk = { data, size: lines.length, entries: new Set() }
      for (const [slot, line] of lines.entries()) {
        entered.push({ place: places[slot] ?? 0, entry: { ...fromLine(line), order: 0, chunk, slot, bytes: sizes[slot] ?? 0 } })
      }
    }
    if (portions.length > 1) entered.sort((a, b) => a.place - b.place)
    for (const { entry } of entered) {
      entry.order = ++this.#order
      this.#remove(entry.summary.token)
      entry.chunk.entries.add(entry)
      this.#laneOf(entry).set(entry.summary.token, entry)
      this.#evict()
    }
  }

  #evict (): void {
    while (this.#isOver(1, this.#sum((lane) => lane.size), this.#sum((lane) => lane.bytes))) {
      const failuresHaveTooMuch = this.#successes.size === 0 ||
        (this.#failures.size > 1 && this.#isOver(FAILURE_SHARE, this.#failures.size, this.#failures.bytes))
      const lane = failuresHaveTooMuch ? this.#failures : this.#successes
      const { oldest } = lane
      if (oldest === undefined) return
      // Those of its chunk are next.
      lane.delete(oldest.summary.token)
      oldest.chunk.entries.delete(oldest)
    }
  }

  #isOver (share: number, profiles: number, bytes: number): boolean {
    return profiles > this.#bounds.maxProfiles * share || bytes > this.#bounds.maxBytes * share
  }

  #remove (token: string): void {
    const entry = this.#entry(token)
    if (entry === undefined) return
    this.#laneOf(entry).delete(token)
    const { chunk } = entry
    chunk.entries.delete(entry)
    if (chunk.entries.size === 0 || chunk.entries.size > chunk.size * LEAST_LEFT) return
    const left = [...chunk.entries]
    const anew = chunkOf(left.map((one) => readProfile(chunk.data, one.slot)))
    for (const [slot, one] of left.entries()) {
      const bytes = anew.sizes[slot] ?? 0
      this.#laneOf(one).bytes += bytes - one.bytes
      Object.assign(one, { chunk: anew.chunk, slot, bytes })
      anew.chunk.entries.add(one)
    }
  }
}

const { put: ownPut } = MemoryStorage.prototype

function position (cursor: string): number {
  if (/^(?:0|[1-9]\d{0,14})$/.test(cursor)) return Number(cursor)
  throw new InvalidCursorError(cursor)
}
