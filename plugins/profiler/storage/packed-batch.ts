import createError from '@fastify/error'
import type { Profile, ProfileDraft } from '../profile.js'
import { LANES, tokenNumber, type Lane } from './embedded/layout.js'
import { ChunkWriter, type ProfileChunk } from './profile-chunk.js'
import { readProfile } from './read-chunk.js'
import type { ProfileBatch } from './storage.js'
import { toLine } from './summary-block.js'
import { indexEntry, isFailure } from './summary.js'

/** Profiles of one lane, ready to be written. */
export interface Portion {
  lane: Lane
  chunk: ProfileChunk
  tokens: number[]
  lines: string[]
  /** The place of each within the batch. */
  places: number[]
}

interface OpenPortion extends Omit<Portion, 'chunk'> {
  writer: ChunkWriter
}

/** Most of the work is done when they are to be written. */
const MAX_BATCH = 4_096

/** Raised for a profile that cannot be stored since nobody could ask for it. */
export const InvalidTokenError = createError('HINDSIGHT_INVALID_TOKEN', 'Invalid token "%s": a profile is stored by six lower-case hexadecimal digits.', 400)

/** Packs profiles as they come, ahead of what keeps them: one portion for each chunk. */
export class PackedBatch implements ProfileBatch {
  readonly #maxBytes: number
  readonly #keep: (portions: readonly Portion[], length: number) => Promise<void>
  readonly #full: Portion[] = []
  readonly #open = new Map<Lane, OpenPortion>()
  #length = 0

  /** What is larger than `maxBytes` is left out; `keep` writes the rest. */
  constructor (maxBytes: number, keep: (portions: readonly Portion[], length: number) => Promise<void>) {
    this.#maxBytes = maxBytes
    this.#keep = keep
  }

  get isFull (): boolean {
    return this.#length >= MAX_BATCH
  }

  add (profile: Profile | ProfileDraft): void {
    const number = tokenNumber(profile.token)
    if (number === undefined) throw new InvalidTokenError(profile.token)
    const portion = this.#portionOf(isFailure(profile) ? LANES.failure : LANES.success)
    const line = toLine(indexEntry(profile))
    const isKept = portion.writer.add(profile, this.#maxBytes)
    const place = this.#length++
    if (!isKept) return
    portion.tokens.push(number)
    portion.lines.push(line)
    portion.places.push(place)
    if (portion.writer.isFull) this.#finish(portion)
  }

  get (token: string): Profile | undefined {
    const number = tokenNumber(token) ?? -1
    for (const portion of [...this.#full, ...this.#open.values()]) {
      const slot = portion.tokens.indexOf(number)
      if (slot !== -1) return readProfile(('chunk' in portion ? portion.chunk : portion.writer.finish()).data, slot)
    }
  }

  async write (): Promise<void> {
    const portions = this.finish()
    if (portions.length > 0) await this.#keep(portions, this.#length)
  }

  /** What was taken in; nothing more is from then on. */
  finish (): readonly Portion[] {
    for (const portion of this.#open.values()) this.#finish(portion)
    return this.#full
  }

  #portionOf (lane: Lane): OpenPortion {
    let portion = this.#open.get(lane)
    if (portion === undefined) this.#open.set(lane, portion = { lane, writer: new ChunkWriter(), tokens: [], lines: [], places: [] })
    return portion
  }

  #finish ({ writer, lane, tokens, lines, places }: OpenPortion): void {
    if (writer.length > 0) this.#full.push({ lane, chunk: writer.finish(), tokens, lines, places })
    writer.release()
    this.#open.delete(lane)
  }
}
