import type { Profile } from '../profile.js'
import { profileJson } from './profile-json.js'

type Event = Profile['events'][number]
type Signature = Pick<Event, 'stage' | 'listener' | 'pass' | 'outcome' | 'reason'>
/** What does not go into numbers, in the order of the events: what one changed, or, where `RAW` stands for it, the whole event. */
type Extras = Array<Event['changes'] | Event>

const MAX_PROFILES = 64
const MAX_BYTES = 256 * 1024
// An event is a signature, of which the highest bit says that there are changes, a start of four bytes and a duration of three, in µs.
const EVENT_BYTES = 8
const CHANGED = 128
const RAW = 127

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
  readonly #order: number[] = []
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
    const extras = this.#pack(profile.events)
    const packed = { ...profile, events: extras }
    if (profile.exceptions.length === 0) this.#write(JSON.stringify(packed))
    else for (const part of profileJson(packed)) this.#write(part)
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

  #write (text: string | Buffer): void {
    this.#reserve(text.length * 3)
    this.#position += typeof text === 'string' ? scratch.write(text, this.#position) : text.copy(scratch, this.#position)
  }

  #reserve (bytes: number): void {
    const needed = this.#position + bytes
    if (needed <= scratch.length) return
    const larger = Buffer.alloc(needed * 2)
    scratch.copy(larger, 0, 0, this.#position)
    scratch = larger
  }

  /** Writes the events as numbers; gives what is left. */
  #pack (events: readonly Event[]): Extras {
    this.#reserve(4 + events.length * EVENT_BYTES)
    let at = scratch.writeUInt32LE(events.length, this.#position)
    const extras: Extras = []
    const order = this.#order
    for (let i = 0; i < events.length; i++, at += EVENT_BYTES) {
      const event = events[i]
      if (event === undefined) continue
      const start = Math.round(event.start * 1_000)
      const duration = Math.round(event.duration * 1_000)
      const isExact = start / 1_000 === event.start && duration / 1_000 === event.duration && start >= 0 && start < 2 ** 32 && duration >= 0 && duration < 2 ** 24
      const signature = isExact ? this.#signatureOf(event, order[i]) : RAW
      order[i] = signature
      scratch[at] = event.changes === undefined || signature === RAW ? signature : signature | CHANGED
      scratch[at + 1] = start
      scratch[at + 2] = start >>> 8
      scratch[at + 3] = start >>> 16
      scratch[at + 4] = start >>> 24
      scratch[at + 5] = duration
      scratch[at + 6] = duration >>> 8
      scratch[at + 7] = duration >>> 16
      if (signature === RAW) extras.push(event)
      else if (event.changes !== undefined) extras.push(event.changes)
    }
    this.#position = at
    return extras
  }

  /** Most requests walk the same way, so that the signature is the one that stood there the last time. */
  #signatureOf (event: Event, guess: number | undefined): number {
    const known = 6 + (event.reason === undefined ? 0 : 1) + (event.changes === undefined ? 0 : 1)
    // One that has more, or less, is kept as it is.
    if (Object.keys(event).length !== known) return RAW
    const guessed = guess === undefined ? undefined : this.#signatures[guess]
    if (guess !== undefined && guessed !== undefined && isOf(event, guessed)) return guess
    const found = this.#signatures.findIndex((signature) => isOf(event, signature))
    if (found !== -1) return found
    if (this.#signatures.length >= RAW) return RAW
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
  const text = start + 4 + EVENT_BYTES * chunk.readUInt32LE(start)
  const packed = JSON.parse(chunk.toString('utf8', text, end)) as Omit<Profile, 'events'> & { events: Extras }
  return Object.assign(packed, { events: unpack(chunk.subarray(start + 4, text), packed.events, signatures) })
}

function isOf (event: Event, { stage, listener, pass, outcome, reason }: Signature): boolean {
  return event.listener === listener && event.stage === stage && event.outcome === outcome && event.pass === pass && event.reason === reason
}

function unpack (numbers: Buffer, extras: Extras, signatures: readonly Signature[]): Event[] {
  const events: Event[] = []
  let extra = 0
  for (let at = 0; at < numbers.length; at += EVENT_BYTES) {
    const byte = numbers.readUInt8(at)
    if (byte === RAW) {
      events.push(extras[extra++] as Event)
      continue
    }
    const signature = signatures[byte & (CHANGED - 1)]
    if (signature === undefined) throw new RangeError('An event has no signature')
    const { reason, ...known } = signature
    events.push({
      ...known,
      start: numbers.readUInt32LE(at + 1) / 1_000,
      duration: numbers.readUIntLE(at + 5, 3) / 1_000,
      ...(reason !== undefined && { reason }),
      ...(byte >= CHANGED && { changes: extras[extra++] as NonNullable<Event['changes']> })
    })
  }
  return events
}
