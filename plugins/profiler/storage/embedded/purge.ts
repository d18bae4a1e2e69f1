import { lineAt, fromLine, isLine, seqAt, spanOf } from '../summary-block.js'
import { ALL_LANES, emptyState, FATES, laneKey, MAX_SEQ, readWaiting, seqOfKey, Slots, sumOf, tokenNumber, type Lane } from './layout.js'
import type { Ledger } from './ledger.js'
import { columnKey, type StoreFile } from './store-file.js'

const BLOCKS = 8

/** Empties the store, but for pinned profiles where they are to be kept; says how many went. */
export function purgeAll (file: StoreFile, ledger: Ledger, pinned: boolean): number {
  const { state } = ledger
  const before = sumOf(state, ALL_LANES).profiles
  const kept = (pinned ? [] : FATES.pinned).flatMap((lane) => [...file.slots.getRange(rangeOf(lane))].flatMap(({ key, value }) => {
    const data = file.chunks.get(key)
    const waiting = file.waiting.get(key)
    if (data === undefined || waiting === undefined) return []
    return [{ lane, seq: seqOfKey(key), token: new Slots(value).token(0), data, lines: readWaiting(waiting).lines }]
  }))
  for (const database of [file.tokens, file.chunks, file.slots, file.waiting, file.zones, file.columns]) database.clearSync()
  state.tallies = emptyState().tallies
  for (const { lane, seq, token, data, lines } of kept) ledger.write(lane, [seq], [token], lines, data, [data.length])
  return before - kept.length
}

/** After a purge, drops summaries of nobody, a few blocks at a time and up to a number; gives the key to go on behind, or none at the end. */
export function tidy (file: StoreFile, ledger: Ledger, lane: Lane, after: number, until: number): number | undefined {
  const zones = [...file.zones.getRange({ start: after + 1, end: laneKey(lane, until) + 1, limit: BLOCKS })]
  for (const { key, value } of zones) tidyBlock(file, ledger, lane, key, value)
  return zones.length < BLOCKS ? undefined : zones.at(-1)?.key
}

function tidyBlock (file: StoreFile, ledger: Ledger, lane: Lane, key: number, zone: Buffer): void {
  const block = rowsOf(file, key, zone)
  if (block === null) return
  const alive = block.filter(({ line, seq }) => {
    // A line that is damaged leads nowhere.
    const at = isLine(line) ? ledger.find(tokenNumber(fromLine(line).summary.token) ?? 0) : undefined
    return at?.lane === lane && at.seq === seq
  })
  if (alive.length === 0) ledger.dropBlock(key)
  else if (alive.length <= block.length / 2) ledger.writeBlock(key, alive.map(({ line }) => line), alive.map(({ seq }) => seq))
}

/** The summaries of a block; null where it is damaged. */
function rowsOf (file: StoreFile, key: number, zone: Buffer): Array<{ line: string, seq: number }> | null {
  const texts = file.columns.get(columnKey(key, 'rows'))
  const numbers = file.columns.get(columnKey(key, 'seq'))
  if (texts === undefined || numbers === undefined) return null
  try {
    return Array.from({ length: spanOf(zone).rows }, (_, i) => ({ line: lineAt(texts, i), seq: seqAt(numbers, i) }))
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function rangeOf (lane: Lane): { start: number, end: number } {
  return { start: laneKey(lane, 0), end: laneKey(lane, MAX_SEQ) }
}
