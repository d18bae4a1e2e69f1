import { EventColumns, type EventSignature, type Profile, type ProfileDraft } from '../profile.js'
import { CHANGED, EVENT_BYTES, HEAD_BYTES, RAW, type Common, type Event, type Extras } from './chunk-format.js'
import { ChunkParts } from './chunk-parts.js'

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

/** Collects profiles into a chunk. Half of a profile is its events, which are the same for every request but for their times: packed, they cost a tenth. */
export class ChunkWriter {
  readonly #signatures: EventSignature[] = []
  readonly #parts = new ChunkParts()
  readonly #ends: number[] = []
  readonly #order: number[] = []
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
    const columns = profile.events instanceof EventColumns ? profile.events : columnsOf(profile.events)
    const extras = columns === null ? this.#raw(profile.events as Event[]) : this.#pack(columns)
    const { rest, layout } = this.#parts.extract({ ...profile, events: extras })
    this.#scratch.writeUInt32LE(layout, start + 4)
    this.#write(JSON.stringify(rest))
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
    this.#write(JSON.stringify({ signatures, layouts: this.#parts.layouts, parts } satisfies Common))
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

  /** Writes the events as numbers; gives what is left. */
  #pack (columns: EventColumns): Extras {
    const { signatures, starts, durations, changes } = columns
    this.#reserve(HEAD_BYTES + signatures.length * EVENT_BYTES)
    const scratch = this.#scratch
    scratch.writeUInt32LE(signatures.length, this.#position)
    let at = this.#position + HEAD_BYTES
    const extras: Extras = []
    const order = this.#order
    for (let i = 0; i < signatures.length; i++, at += EVENT_BYTES) {
      const event = signatures[i] as EventSignature
      const start = starts[i] ?? -1
      const duration = durations[i] ?? -1
      const change = changes[i]
      const isExact = start >= 0 && start < 2 ** 32 && duration >= 0 && duration < 2 ** 24
      const signature = isExact ? this.#signatureOf(event, order[i]) : RAW
      order[i] = signature
      scratch[at] = change === undefined || signature === RAW ? signature : signature | CHANGED
      scratch[at + 1] = start
      scratch[at + 2] = start >>> 8
      scratch[at + 3] = start >>> 16
      scratch[at + 4] = start >>> 24
      scratch[at + 5] = duration
      scratch[at + 6] = duration >>> 8
      scratch[at + 7] = duration >>> 16
      if (signature === RAW) extras.push(columns.at(i))
      else if (change !== undefined) extras.push(this.#parts.numberOf(change) ?? change)
    }
    this.#position = at
    return extras
  }

  /** Events that have more in them than the columns have, or less. */
  #raw (events: readonly Event[]): Extras {
    this.#reserve(HEAD_BYTES + events.length * EVENT_BYTES)
    const scratch = this.#scratch
    scratch.writeUInt32LE(events.length, this.#position)
    const from = this.#position + HEAD_BYTES
    this.#position = from + events.length * EVENT_BYTES
    scratch.fill(0, from, this.#position)
    for (let at = from; at < this.#position; at += EVENT_BYTES) scratch[at] = RAW
    return [...events]
  }

  /** Most requests walk the same way, so that the signature is the one that stood there the last time. */
  #signatureOf (event: EventSignature, guess: number | undefined): number {
    const guessed = guess === undefined ? undefined : this.#signatures[guess]
    if (guess !== undefined && guessed !== undefined && isSame(event, guessed)) return guess
    const found = this.#signatures.findIndex((signature) => isSame(event, signature))
    if (found !== -1) return found
    return this.#signatures.length >= RAW ? RAW : this.#signatures.push(event) - 1
  }
}

// Events that were read from somewhere else; null where they do not fit.
function columnsOf (events: readonly Event[]): EventColumns | null {
  const signatures: EventSignature[] = []
  const starts: number[] = []
  const durations: number[] = []
  for (const event of events) {
    const { stage, listener, pass, outcome, reason, plugin, source, start, duration, changes } = event
    const known = 6 + [reason, plugin, source, changes].filter((value) => value !== undefined).length
    const [from, lasted] = [Math.round(start * 1_000), Math.round(duration * 1_000)]
    if (Object.keys(event).length !== known || from / 1_000 !== start || lasted / 1_000 !== duration) return null
    signatures.push({ index: -1, stage, listener, pass, outcome, reason: reason ?? null, ...(plugin !== undefined && { plugin }), ...(source !== undefined && { source }) })
    starts.push(from)
    durations.push(lasted)
  }
  return new EventColumns(signatures, starts, durations, events.map(({ changes }) => changes))
}

function isSame (one: EventSignature, other: EventSignature): boolean {
  return one === other ||
    (one.listener === other.listener && one.stage === other.stage && one.outcome === other.outcome && one.pass === other.pass && one.reason === other.reason &&
      one.plugin === other.plugin && one.source === other.source)
}
