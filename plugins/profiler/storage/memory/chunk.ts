import type { Profile } from '../../profile.js'
import { ChunkWriter } from '../profile-chunk.js'
import type { IndexEntry } from '../summary.js'

/** Profiles that were packed together, and which of them are still there: as long as one is, all of the data are. */
export interface Chunk {
  data: Buffer
  size: number
  entries: Set<Entry>
}

/** A profile: its summary, and where it is. */
export interface Entry extends IndexEntry {
  order: number
  chunk: Chunk
  slot: number
  bytes: number
}

/** Packs profiles into a chunk that nobody is in yet; and the bytes that each of them takes. */
export function chunkOf (profiles: readonly Profile[]): { chunk: Chunk, sizes: readonly number[] } {
  const writer = new ChunkWriter()
  for (const profile of profiles) writer.add(profile)
  const { data, sizes } = writer.finish()
  writer.release()
  return { chunk: { data, size: profiles.length, entries: new Set() }, sizes }
}
