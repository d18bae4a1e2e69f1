import type { StorageBounds } from '../storage.js'

/** Queues of profiles that share a fate. Those of the first two are only ever added to; pinned ones and those let go of stand for themselves. */
export const LANES = { success: 0, failure: 1, pinnedSuccess: 2, pinnedFailure: 3, releasedSuccess: 4, releasedFailure: 5 } as const

export type Lane = typeof LANES[keyof typeof LANES]

/** All of them. */
export const ALL_LANES: readonly Lane[] = Object.values(LANES)

/** Those that the bounds treat alike. */
export const FATES = {
  success: [LANES.success, LANES.releasedSuccess],
  failure: [LANES.failure, LANES.releasedFailure],
  pinned: [LANES.pinnedSuccess, LANES.pinnedFailure]
} as const satisfies Record<string, readonly Lane[]>

/** Whether profiles of a lane are pinned. */
export function isPinnedLane (lane: Lane): boolean {
  return lane === LANES.pinnedSuccess || lane === LANES.pinnedFailure
}

/** Whether profiles of a lane are failures: it is odd then. */
export function isFailureLane (lane: Lane): boolean {
  return lane % 2 === 1
}

/** Larger than any number that orders profiles. */
export const MAX_SEQ = 2 ** 44 - 1

/** Raised with every change of what is written here; other formats are set aside. */
export const FORMAT = 3

export interface Tally {
  profiles: number
  bytes: number
  /** How many summaries wait to be packed. */
  waiting: number
}

/** What is known of the whole store: one record, written with every transaction. */
export interface State {
  format: number
  /** The number of the newest profile. */
  seq: number
  tallies: Record<Lane, Tally>
  /** Those of whoever was told some: who is told none takes them, such as the command line. */
  bounds?: StorageBounds
}

/** The state of a store that holds nothing. */
export function emptyState (seq = 0): State {
  const empty = (): Tally => ({ profiles: 0, bytes: 0, waiting: 0 })
  return { format: FORMAT, seq, tallies: { 0: empty(), 1: empty(), 2: empty(), 3: empty(), 4: empty(), 5: empty() } }
}

/** What some lanes hold together. */
export function sumOf ({ tallies }: State, lanes: readonly Lane[]): Tally {
  return lanes.reduce((sum, lane) => {
    const { profiles, bytes, waiting } = tallies[lane]
    return { profiles: sum.profiles + profiles, bytes: sum.bytes + bytes, waiting: sum.waiting + waiting }
  }, { profiles: 0, bytes: 0, waiting: 0 })
}

/** The key of a lane's chunk, by its first profile. */
export function laneKey (lane: Lane, seq: number): number {
  return lane * 2 ** 44 + seq
}

/** The number within its lane that a key was made of. */
export function seqOfKey (key: number): number {
  return key % 2 ** 44
}

/** A token as a number; undefined where it is none. */
export function tokenNumber (token: string): number | undefined {
  return /^[0-9a-f]{6}$/.test(token) ? parseInt(token, 16) : undefined
}

/** Where a profile is. */
export interface Location {
  lane: Lane
  seq: number
  /** The number of the first profile of its chunk. */
  chunk: number
  slot: number
}

const location = Buffer.alloc(15)

/** A location as bytes; they are good until the next call. */
export function packLocation ({ lane, seq, chunk, slot }: Location): Buffer {
  location.writeUInt8(lane)
  location.writeUIntLE(seq, 1, 6)
  location.writeUIntLE(chunk, 7, 6)
  location.writeUInt16LE(slot, 13)
  return location
}

/** The location that bytes hold; undefined where there are none, or damaged ones. */
export function readLocation (bytes: Buffer | undefined): Location | undefined {
  if (bytes?.length !== location.length) return undefined
  return { lane: bytes.readUInt8(0) as Lane, seq: bytes.readUIntLE(1, 6), chunk: bytes.readUIntLE(7, 6), slot: bytes.readUInt16LE(13) }
}

const SLOT_BYTES = 12

/** Who is in a chunk, in order; a size of zero: not any more. */
export class Slots {
  readonly data: Buffer

  constructor (data: Buffer) {
    this.data = data
  }

  static of (chunk: number, slots: ReadonlyArray<{ token: number, seq: number, size: number }>): Slots {
    const data = Buffer.allocUnsafe(SLOT_BYTES * slots.length)
    slots.forEach(({ token, seq, size }, i) => {
      data.writeUInt32LE(token, SLOT_BYTES * i)
      data.writeUInt32LE(seq - chunk, SLOT_BYTES * i + 4)
      data.writeUInt32LE(size, SLOT_BYTES * i + 8)
    })
    return new Slots(data)
  }

  get length (): number {
    return this.data.length / SLOT_BYTES
  }

  token (slot: number): number {
    return this.data.readUInt32LE(SLOT_BYTES * slot)
  }

  delta (slot: number): number {
    return this.data.readUInt32LE(SLOT_BYTES * slot + 4)
  }

  size (slot: number): number {
    return this.data.readUInt32LE(SLOT_BYTES * slot + 8)
  }

  clear (slot: number): void {
    this.data.writeUInt32LE(0, SLOT_BYTES * slot + 8)
  }

  get isEmpty (): boolean {
    for (let slot = 0; slot < this.length; slot++) if (this.size(slot) > 0) return false
    return true
  }
}

/** Summaries that wait to be packed: the numbers of their profiles, and a line each. */
export function packWaiting (seqs: readonly number[], lines: readonly string[]): string {
  return `${seqs.join()}\n${lines.join('\n')}`
}

/** What waits, apart again. */
export function readWaiting (text: string): { seqs: number[], lines: string[] } {
  const [seqs = '', ...lines] = text.split('\n')
  return { seqs: seqs.split(',').map(Number), lines }
}
