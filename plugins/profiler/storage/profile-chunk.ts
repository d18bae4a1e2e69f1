import type { EventLayout, EventSignature, Profile, ProfileDraft } from '../profile.js'
import { HEAD_BYTES, MAX_TIME_BYTES, NO_WAY, type Changed, type Common, type Way } from './chunk-format.js'
import { ChunkParts } from './chunk-parts.js'
import { columnsOf } from './event-columns-of.js'

const MAX_PROFILES = 64
const MAX_BYTES = 256 * 1024

/** Many profiles as one value: what they have in common is written once. */
export interface ProfileChunk {
  data: Buffer
  /** The bytes that each of the profiles takes; their sum is the length of the data. */
  sizes: number[]
}

/** Where chunks are written before it is known how long they are: what one has let go of is the next one's. */
const SPACE = 2 * MAX_BYTES
const MAX_FREE = 4
const free: Buffer[] = []

/** Collects profiles into a chunk: names, the ways that events went and shared parts are written once, so that little is left of most of them but their times. */
export class ChunkWriter {
  readonly #signatures: EventSignature[] = []
  readonly #parts = new ChunkParts()
  readonly #ends: number[] = []
  readonly #ways: Way[] = []
  readonly #wayOf = new Map<EventLayout, number>()
  #scratch = free.pop() ?? Buffer.allocUnsafeSlow(SPACE)
  #position = 0

  get length (): number {
    return this.#ends.length
  }

  /** Whether the next profile should go to another chunk: a look-up reads a whole one. */
  get isFull (): boolean {
    return this.#ends.length >= MAX_PROFILES || this.#position + this.#parts.length >= MAX_BYTES
  }

  /** Adds a profile, unless it is larger than the bound: then says so. */
  add (profile: Profile | ProfileDraft, maxBytes = Infinity): boolean {
    // One that threw has left its beginning.
    const start = this.#position = this.#ends.at(-1) ?? 0
    const common = this.#parts.length
    const columns = columnsOf(profile.events)
    this.#reserve(HEAD_BYTES + 2 * MAX_TIME_BYTES * (columns?.starts.length ?? 0))
    this.#scratch.writeUInt32LE(columns === null ? NO_WAY : this.#way(columns.layout), start + 4)
    this.#position += HEAD_BYTES
    const changed: Changed = []
    if (columns !== null) {
      const { starts, durations, changes } = columns
      for (let i = 0; i < starts.length; i++) {
        this.#time(starts[i] as number)
        this.#time(durations[i] as number)
        const change = changes[i]
        if (change !== undefined) changed.push(i, this.#parts.numberOf(change) ?? change)
      }
    }
    const { shape, leaves } = this.#parts.extract(profile, columns === null ? profile.events : changed)
    this.#scratch.writeUInt32LE(shape, start)
    this.#write(JSON.stringify(leaves))
    const fits = this.#position - start + this.#parts.length - common <= maxBytes
    if (fits) this.#ends.push(this.#position)
    else this.#position = start
    return fits
  }

  /** The chunk as it is so far; more can be added to the next one. */
  finish (): ProfileChunk {
    const profiles = this.#position = this.#ends.at(-1) ?? 0
    const chunk = this.#finish()
    this.#position = profiles
    return chunk
  }

  /** Lets go of the space that it was written in: nothing can be added from then on. */
  release (): void {
    if (this.#scratch.length === SPACE && free.length < MAX_FREE) free.push(this.#scratch)
    this.#scratch = Buffer.alloc(0)
  }

  #finish (): ProfileChunk {
    const sizes = this.#ends.map((end, i) => end - (this.#ends[i - 1] ?? 0))
    const profiles = this.#position
    const parts = this.#parts.texts.map((text) => {
      this.#write(text)
      return this.#position - profiles
    })
    const head = this.#position
    const signatures = this.#signatures.map(({ index, ...signature }) => signature)
    this.#write(JSON.stringify({ signatures, ways: this.#ways, shapes: this.#parts.shapes, parts } satisfies Common))
    const data = Buffer.allocUnsafeSlow(this.#position + 4 * this.#ends.length + 8)
    this.#scratch.copy(data, 0, 0, this.#position)
    let at = this.#position
    for (const end of this.#ends) at = data.writeUInt32LE(end, at)
    at = data.writeUInt32LE(this.#ends.length, at)
    data.writeUInt32LE(this.#position - head, at)
    const shared = data.length - profiles
    const share = Math.floor(shared / sizes.length)
    return { data, sizes: sizes.map((size, i) => size + share + (i === 0 ? shared - share * sizes.length : 0)) }
  }

  #write (text: string | Buffer): void {
    this.#reserve(text.length * 3)
    this.#position += typeof text === 'string' ? this.#scratch.write(text, this.#position) : text.copy(this.#scratch, this.#position)
  }

  #reserve (bytes: number): void {
    const needed = this.#position + bytes
    if (needed <= this.#scratch.length) return
    const larger = Buffer.allocUnsafeSlow(needed * 2)
    this.#scratch.copy(larger, 0, 0, this.#position)
    this.#scratch = larger
  }

  #time (time: number): void {
    let left = time
    while (left > 127) {
      this.#scratch[this.#position++] = (left & 127) | 128
      left = Math.floor(left / 128)
    }
    this.#scratch[this.#position++] = left
  }

  // Most requests walk the same way, and that is one object.
  #way (layout: EventLayout): number {
    const known = this.#wayOf.get(layout)
    if (known !== undefined) return known
    const signatures = layout.signatures.map((signature) => this.#signature(signature))
    const like = this.#ways.findIndex((way) => isSameList(way.signatures, signatures) && isSameList(way.sources, layout.sources))
    const number = like === -1 ? this.#ways.push({ signatures, sources: [...layout.sources], recorded: layout.recorded.length }) - 1 : like
    this.#wayOf.set(layout, number)
    return number
  }

  #signature (signature: EventSignature): number {
    const found = this.#signatures.findIndex((other) => isSame(signature, other))
    return found === -1 ? this.#signatures.push(signature) - 1 : found
  }
}

function isSameList (one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((number, i) => number === other[i])
}

function isSame (one: EventSignature, other: EventSignature): boolean {
  return one === other ||
    (one.listener === other.listener && one.stage === other.stage && one.outcome === other.outcome && one.pass === other.pass && one.reason === other.reason &&
      one.plugin === other.plugin && one.source === other.source)
}
