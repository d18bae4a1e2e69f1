import { ChunkWriter } from '../profile-chunk.js'
import { readProfile } from '../read-chunk.js'
import { PINNED_SHARE, TooManyPinnedError } from '../storage.js'
import { toLine } from '../summary-block.js'
import { indexEntry, isFailure } from '../summary.js'
import { FATES, isPinnedLane, laneKey, LANES, type Location } from './layout.js'
import type { Ledger } from './ledger.js'
import type { StoreFile } from './store-file.js'
import type { Profile } from '../../profile.js'

/** Reads a profile where it is; undefined where it is damaged. */
export function profileAt ({ chunks }: StoreFile, { lane, chunk, slot }: Location): Profile | undefined {
  const data = chunks.get(laneKey(lane, chunk))
  try {
    return data && readProfile(data, slot)
  } catch {
    return undefined
  }
}

/** Moves a profile among the pinned ones, or back to the place that it has by its age; false where there is none. */
export function pin (file: StoreFile, ledger: Ledger, token: string, number: number, pinned: boolean): boolean {
  const at = ledger.find(number)
  if (at === undefined || isPinnedLane(at.lane) === pinned) return at !== undefined
  const profile = profileAt(file, at)
  if (profile === undefined) return false
  const writer = new ChunkWriter()
  writer.add(profile)
  const { data, sizes } = writer.finish()
  writer.release()
  if (pinned && ledger.isOver(PINNED_SHARE, FATES.pinned, 1, data.length)) throw new TooManyPinnedError(token)
  ledger.remove(number, at)
  const failed = isFailure(profile)
  const lane = pinned
    ? failed ? LANES.pinnedFailure : LANES.pinnedSuccess
    : failed ? LANES.releasedFailure : LANES.releasedSuccess
  ledger.write(lane, [at.seq], [number], [toLine(indexEntry(profile))], data, sizes)
  return true
}
