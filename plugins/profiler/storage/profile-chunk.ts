import type { Profile } from '../profile.js'

type Event = Profile['events'][number]
type Signature = Pick<Event, 'stage' | 'listener' | 'pass' | 'outcome' | 'reason'>
/** Of each event three whole numbers (signature, start, duration in µs) and, in an array, what it changed; or the event as it is. */
type PackedEvents = Array<number | [Event['changes']] | Event>

const MAX_PROFILES = 64
const MAX_BYTES = 256 * 1024
const MAX_SIGNATURES = 256
const NONE = -1

/** Many profiles as one value: what their events have in common is written once. */
export interface ProfileChunk {
  data: Buffer
  /** The bytes that each of the profiles takes; their sum is the length of the data. */
  sizes: number[]
}

// Profiles are packed one chunk after another, and what is packed is copied: one place to write serves all.
let scratch = Buffer.alloc(2 * MAX_BYTES)

/** Collects profiles into a chunk. Half of a profile is its events, which are the same for every request but for their times: packed, they cost a tenth. */
export class ChunkWriter {
  readonly #signatures: Signature[] = []
  readonly #ends: number[] = []
  #last: number[] = []
  #position = 0

  get length (): number {
    return this.#ends.length
  }

  /** Whether the next profile should go to another chunk: a look-up reads a whole one. */
  get isFull (): boolean {
    return this.#ends.length >= MAX_PROFILES || this.#position >= MAX_BYTES
  }

  /** Adds a profile, unless it is larger than the bound: then says so. */
  add (profile: Profile, maxBytes = Infinity): boolean {
    const start = this.#position
    this.#write(JSON.stringify({ ...profile, events: this.#pack(profile.events) }))
    const fits = this.#position - start <= maxBytes
    if (fits) this.#ends.push(this.#position)
    else this.#position = start
    return fits
  }

  finish (): ProfileChunk {
    const sizes = this.#ends.map((end, i) => end - (this.#ends[i - 1] ?? 0))
    const lines = this.#position
    this.#write(JSON.stringify(this.#signatures))
    const data = Buffer.allocUnsafeSlow(this.#position + 4 * this.#ends.length + 8)
    scratch.copy(data, 0, 0, this.#position)
    let at = this.#position
    for (const end of this.#ends) at = data.writeUInt32LE(end, at)
    at = data.writeUInt32LE(this.#ends.length, at)
    data.writeUInt32LE(this.#position - lines, at)
    const shared = data.length - lines
    const share = Math.floor(shared / sizes.length)
    return { data, sizes: sizes.map((size, i) => size + share + (i === 0 ? shared - share * sizes.length : 0)) }
  }

  #write (text: string): void {
    const needed = this.#position + text.length * 3
    if (needed > scratch.length) {
      const larger = Buffer.alloc(needed * 2)
      scratch.copy(larger, 0, 0, this.#position)
      scratch = larger
    }
    this.#position += scratch.write(text, this.#position)
  }

  #pack (events: readonly Event[]): PackedEvents {
    const packed: PackedEvents = []
    const order: number[] = []
    for (const event of events) {
      const start = Math.round(event.start * 1_000)
      const duration = Math.round(event.duration * 1_000)
      const signature = start / 1_000 === event.start && duration / 1_000 === event.duration
        ? this.#signatureOf(event, this.#last[order.length])
        : NONE
      order.push(signature)
      if (signature === NONE) packed.push(event)
      else if (event.changes === undefined) packed.push(signature, start, duration)
      else packed.push(signature, start, duration, [event.changes])
    }
    this.#last = order
    return packed
  }

  /** Most requests walk the same way, so that the signature is the one that stood there the last time. */
  #signatureOf (event: Event, guess: number | undefined): number {
    const guessed = guess === undefined ? undefined : this.#signatures[guess]
    const known = 6 + (event.reason === undefined ? 0 : 1) + (event.changes === undefined ? 0 : 1)
    if (Object.keys(event).length !== known) return NONE
    if (guess !== undefined && guessed !== undefined && isOf(event, guessed)) return guess
    const found = this.#signatures.findIndex((signature) => isOf(event, signature))
    if (found !== -1) return found
    if (this.#signatures.length >= MAX_SIGNATURES) return NONE
    const { stage, listener, pass, outcome, reason } = event
    return this.#signatures.push({ stage, listener, pass, outcome, ...(reason !== undefined && { reason }) }) - 1
  }
}

/** Reads one profile of a chunk; throws where there is none, or it is damaged. */
export function readProfile (chunk: Buffer, slot: number): Profile {
  const length = chunk.readUInt32LE(chunk.length - 8)
  if (slot >= length) throw new RangeError('A chunk has no such profile')
  const table = chunk.length - 8 - 4 * length
  const end = chunk.readUInt32LE(table + 4 * slot)
  const start = slot === 0 ? 0 : chunk.readUInt32LE(table + 4 * (slot - 1))
  const signatures = JSON.parse(chunk.toString('utf8', table - chunk.readUInt32LE(chunk.length - 4), table)) as Signature[]
  const packed = JSON.parse(chunk.toString('utf8', start, end)) as Omit<Profile, 'events'> & { events: PackedEvents }
  return Object.assign(packed, { events: unpack(packed.events, signatures) })
}

function isOf (event: Event, { stage, listener, pass, outcome, reason }: Signature): boolean {
  return event.listener === listener && event.stage === stage && event.outcome === outcome && event.pass === pass && event.reason === reason
}

function unpack (packed: PackedEvents, signatures: readonly Signature[]): Event[] {
  const events: Event[] = []
  for (let i = 0; i < packed.length; i++) {
    const item = packed[i]
    if (typeof item !== 'number') {
      if (!Array.isArray(item)) events.push(item as Event)
      else Object.assign(events.at(-1) ?? {}, { changes: item[0] })
      continue
    }
    const signature = signatures[item]
    if (signature === undefined) throw new RangeError('An event has no signature')
    const { reason, ...known } = signature
    events.push({ ...known, start: Number(packed[++i]) / 1_000, duration: Number(packed[++i]) / 1_000, ...(reason !== undefined && { reason }) })
  }
  return events
}
