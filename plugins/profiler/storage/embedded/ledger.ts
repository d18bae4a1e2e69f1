import { FAILURE_SHARE, type StorageBounds } from '../storage.js'
import { COLUMNS, isLine, packBlock, spanOf } from '../summary-block.js'
import { Head } from './head.js'
import { ALL_LANES, FATES, laneKey, LANES, MAX_SEQ, packLocation, packWaiting, readLocation, readWaiting, seqOfKey, Slots, sumOf, type Lane, type Location, type State } from './layout.js'
import type { Portion } from '../packed-batch.js'
import { columnKey, type StoreFile } from './store-file.js'

const BLOCK_ROWS = 512
const MAX_EVICTIONS = 5_000

/** A store within one transaction that writes: keeps profiles, index, summaries and counts in step. */
export class Ledger {
  readonly #file: StoreFile
  readonly #bounds: StorageBounds
  readonly state: State

  constructor (file: StoreFile, bounds: StorageBounds, state: State) {
    this.#file = file
    this.#bounds = bounds
    this.state = state
  }

  /** Adds a batch. */
  add (portions: readonly Portion[], batch: number): void {
    const base = this.state.seq + 1
    this.state.seq += batch
    for (const { lane, tokens, lines, places, chunk } of portions) {
      const seqs = places.map((place) => base + place)
      this.write(lane, seqs, tokens, lines, chunk.data, chunk.sizes)
      if (this.state.tallies[lane].waiting >= BLOCK_ROWS) this.#packWaiting(lane)
    }
  }

  /** Writes a chunk with all that leads to it. */
  write (lane: Lane, seqs: readonly number[], tokens: readonly number[], lines: readonly string[], data: Buffer, sizes: readonly number[]): void {
    const [chunk = 0] = seqs
    const key = laneKey(lane, chunk)
    const { chunks, slots, waiting } = this.#file
    chunks.putSync(key, data)
    slots.putSync(key, Slots.of(chunk, tokens.map((token, slot) => ({ token, seq: seqs[slot] ?? 0, size: sizes[slot] ?? 0 }))).data)
    waiting.putSync(key, packWaiting(seqs, lines))
    const tally = this.state.tallies[lane]
    tally.waiting += seqs.length
    tally.profiles += seqs.length
    tally.bytes += data.length
    tokens.forEach((token, slot) => this.#point(token, { lane, chunk, slot, seq: seqs[slot] ?? 0 }))
  }

  /** Where a token's profile is. */
  find (token: number): Location | undefined {
    return readLocation(this.#file.tokens.get(token))
  }

  /** Takes a profile out; its summary is passed over from now on. */
  remove (token: number, { lane, chunk, slot }: Location): void {
    this.#file.tokens.removeSync(token)
    this.#vacate(lane, chunk, slot)
  }

  /** Evicts the oldest until the rest is within the bounds; false where much is left to do. */
  evict (): boolean {
    const heads = new Map<Lane, Head>()
    let evictions = 0
    while (evictions < MAX_EVICTIONS && this.isOver(1, ALL_LANES)) {
      const head = this.#oldest(heads)
      if (head === undefined) break
      this.#evictFrom(head)
      evictions++
    }
    for (const head of heads.values()) this.#settle(head)
    return evictions < MAX_EVICTIONS
  }

  /** Whether lanes hold more than a share of the bounds, or would with one profile more. */
  isOver (share: number, lanes: readonly Lane[], profiles = 0, bytes = 0): boolean {
    const sum = sumOf(this.state, lanes)
    return sum.profiles + profiles > this.#bounds.maxProfiles * share || sum.bytes + bytes > this.#bounds.maxBytes * share
  }

  /** Removes a block of summaries. */
  dropBlock (key: number): void {
    this.#file.zones.removeSync(key)
    for (const column of COLUMNS) this.#file.columns.removeSync(columnKey(key, column))
  }

  /** Writes a block of summaries. */
  writeBlock (key: number, lines: readonly string[], seqs: readonly number[]): void {
    const { zone, columns } = packBlock(lines, seqs)
    this.#file.zones.putSync(key, zone)
    for (const column of COLUMNS) this.#file.columns.putSync(columnKey(key, column), columns[column])
  }

  #point (token: number, location: Location): void {
    const { tokens } = this.#file
    if (tokens.putSync(token, packLocation(location), { noOverwrite: true }) as unknown as boolean) return
    const old = this.find(token)
    if (old !== undefined) this.#vacate(old.lane, old.chunk, old.slot)
    tokens.putSync(token, packLocation(location))
  }

  #vacate (lane: Lane, chunk: number, slot: number): void {
    const key = laneKey(lane, chunk)
    const data = this.#file.slots.get(key)
    if (data === undefined) return
    const slots = new Slots(data)
    // A place that is damaged.
    if (slot >= slots.length) return
    this.#count(lane, slots.size(slot))
    slots.clear(slot)
    if (slots.isEmpty) this.#dropChunk(lane, key, slots)
    else this.#file.slots.putSync(key, slots.data)
  }

  #count (lane: Lane, size: number): void {
    const tally = this.state.tallies[lane]
    tally.profiles--
    tally.bytes -= size
  }

  #dropChunk (lane: Lane, key: number, slots: Slots): void {
    this.#file.chunks.removeSync(key)
    this.#file.slots.removeSync(key)
    if (this.#file.waiting.removeSync(key)) this.state.tallies[lane].waiting -= slots.length
  }

  #oldest (heads: Map<Lane, Head>): Head | undefined {
    const failuresHaveTooMuch = sumOf(this.state, FATES.success).profiles === 0 ||
      (sumOf(this.state, FATES.failure).profiles > 1 && this.isOver(FAILURE_SHARE, FATES.failure))
    const lanes = failuresHaveTooMuch ? FATES.failure : FATES.success
    let oldest: Head | undefined
    for (const lane of lanes) {
      const head = this.#head(lane, heads)
      if (head !== undefined && (oldest === undefined || head.seq < oldest.seq)) oldest = head
    }
    return oldest
  }

  /** The oldest profile of a lane that is still there. */
  #head (lane: Lane, heads: Map<Lane, Head>): Head | undefined {
    let head = heads.get(lane)
    while (head === undefined || head.slot >= head.slots.length) {
      if (head !== undefined) this.#settle(head)
      heads.delete(lane)
      if (this.state.tallies[lane].profiles === 0) return undefined
      const [next] = this.#file.slots.getRange({ start: laneKey(lane, 0), end: laneKey(lane, MAX_SEQ), limit: 1 })
      if (next === undefined) return undefined
      head = new Head(lane, next.key, new Slots(next.value))
      heads.set(lane, head)
    }
    return head
  }

  #evictFrom (head: Head): void {
    this.#file.tokens.removeSync(head.slots.token(head.slot))
    this.#count(head.lane, head.slots.size(head.slot))
    head.slots.clear(head.slot)
    head.advance()
  }

  /** Writes what has become of a chunk, and drops the summaries that are older than all that is left. */
  #settle ({ lane, key, slots, slot }: Head): void {
    if (slot < slots.length) {
      this.#file.slots.putSync(key, slots.data)
      return
    }
    this.#dropChunk(lane, key, slots)
    if (lane > LANES.failure) return
    const last = seqOfKey(key) + slots.delta(slots.length - 1)
    // Read before anything is removed: a cursor does not like to lose its ground.
    for (const { key, value } of [...this.#file.zones.getRange({ start: laneKey(lane, 0), end: laneKey(lane, MAX_SEQ), limit: 2 })]) {
      if (spanOf(value).last <= last) this.dropBlock(key)
    }
  }

  #packWaiting (lane: Lane): void {
    const lines: string[] = []
    const seqs: number[] = []
    const keys: number[] = []
    for (const { key, value } of this.#file.waiting.getRange({ start: laneKey(lane, 0), end: laneKey(lane, MAX_SEQ) })) {
      const waiting = readWaiting(value)
      lines.push(...waiting.lines)
      seqs.push(...waiting.seqs)
      keys.push(key)
    }
    for (const key of keys) this.#file.waiting.removeSync(key)
    this.state.tallies[lane].waiting = 0
    const [first] = keys
    if (first === undefined) return
    try {
      this.writeBlock(first, lines, seqs)
    } catch (error) {
      // A line that is damaged must not keep all that follows from being written.
      if (!(error instanceof SyntaxError)) throw error
      const whole = lines.map(isLine)
      this.writeBlock(first, lines.filter((_, i) => whole[i]), seqs.filter((_, i) => whole[i]))
    }
  }
}
