import { setImmediate as turn } from 'node:timers/promises'
import createError from '@fastify/error'
import type { Profile, ProfileDraft } from '../../profile.js'
import { ChunkWriter, type ProfileChunk } from '../profile-chunk.js'
import { toLine } from '../summary-block.js'
import { indexEntry, isFailure } from '../summary.js'
import { LANES, tokenNumber, type Lane } from './layout.js'

/** Profiles of one lane, ready to be written. */
export interface Portion {
  lane: Lane
  chunk: ProfileChunk
  tokens: number[]
  lines: string[]
  /** The place of each within the batch. */
  places: number[]
}

/** Raised for a profile that cannot be stored since nobody could ask for it. */
export const InvalidTokenError = createError('HINDSIGHT_INVALID_TOKEN', 'Invalid token "%s": a profile is stored by six lower-case hexadecimal digits.', 400)

/** So many are packed without letting others work. */
export const AT_ONCE = 64

/** Packs a batch some at a time. */
export async function packInTurns (profiles: ReadonlyArray<Profile | ProfileDraft>, maxBytes: number): Promise<Portion[]> {
  const portions: Portion[] = []
  for (let at = 0; at < profiles.length; at += AT_ONCE) {
    if (at > 0) await turn()
    for (const portion of pack(profiles.slice(at, at + AT_ONCE), maxBytes)) portions.push({ ...portion, places: portion.places.map((place) => at + place) })
  }
  return portions
}

/** Packs a batch, before the store is locked: one portion for each chunk. What is too large for the store is in none. */
export function pack (profiles: ReadonlyArray<Profile | ProfileDraft>, maxBytes: number): Portion[] {
  for (const { token } of profiles) if (tokenNumber(token) === undefined) throw new InvalidTokenError(token)
  const newest = new Map(profiles.map(({ token }, place) => [token, place]))
  const places = [...newest.values()].sort((a, b) => a - b)
  const isFailed = (place: number): boolean => { const profile = profiles[place]; return profile !== undefined && isFailure(profile) }
  return [
    ...packLane(LANES.success, profiles, places.filter((place) => !isFailed(place)), maxBytes),
    ...packLane(LANES.failure, profiles, places.filter(isFailed), maxBytes)
  ]
}

/** One after another: chunks are written in the same place. */
function packLane (lane: Lane, profiles: ReadonlyArray<Profile | ProfileDraft>, places: readonly number[], maxBytes: number): Portion[] {
  const portions: Portion[] = []
  for (let next = 0; next < places.length;) {
    const writer = new ChunkWriter()
    const portion = { lane, tokens: [] as number[], lines: [] as string[], places: [] as number[] }
    for (; next < places.length && !writer.isFull; next++) {
      const place = places[next] ?? 0
      const profile = profiles[place]
      if (profile === undefined || !writer.add(profile, maxBytes)) continue
      portion.tokens.push(tokenNumber(profile.token) ?? 0)
      portion.lines.push(toLine(indexEntry(profile)))
      portion.places.push(place)
    }
    if (writer.length > 0) portions.push({ ...portion, chunk: writer.finish() })
  }
  return portions
}
