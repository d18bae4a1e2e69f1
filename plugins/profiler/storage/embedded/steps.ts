import type { Transaction } from 'lmdb'
import { matcher, type Criteria } from '../criteria.js'
import { BlockSearch, fromLine, lineAt, seqAt, spanOf, type Column } from '../summary-block.js'
import type { IndexEntry } from '../summary.js'
import { ALL_LANES, isFailureLane, isPinnedLane, laneKey, MAX_SEQ, readLocation, readWaiting, tokenNumber, type Lane } from './layout.js'
import { columnKey, type StoreFile } from './store-file.js'

/** How far a search has come in a lane: nothing newer is left there; with an entry: found. */
export interface Step {
  seq: number
  entry?: IndexEntry
}

/** What a search goes through: between two numbers, both not included. */
export interface Range {
  behind: number
  before: number
}

/** Walks through all lanes at once, newest first; each step takes well under a millisecond. */
export function * walk (file: StoreFile, criteria: Criteria, range: Range, transaction: Transaction): Generator<Step> {
  const walks = lanesOf(criteria).map((lane) => walkLane(file, lane, criteria, range, transaction))
  try {
    const heads = walks.map((walk) => ({ walk, result: walk.next() }))
    for (;;) {
      let newest: { walk: Generator<Step, void>, result: { done?: false, value: Step } } | undefined
      for (const head of heads) {
        if (head.result.done !== true && (newest === undefined || head.result.value.seq > newest.result.value.seq)) newest = head as typeof newest
      }
      if (newest === undefined) return
      yield newest.result.value
      const head = newest as { walk: Generator<Step, void>, result: IteratorResult<Step, void> }
      head.result = head.walk.next()
    }
  } finally {
    for (const walk of walks) walk.return()
  }
}

function lanesOf ({ error }: Criteria): readonly Lane[] {
  return ALL_LANES.filter((lane) => error === undefined || isFailureLane(lane) === error)
}

function * walkLane (file: StoreFile, lane: Lane, criteria: Criteria, { behind, before }: Range, transaction: Transaction): Generator<Step, void> {
  const fits = matcher(criteria)
  const pinned = isPinnedLane(lane)
  const range = { start: laneKey(lane, Math.min(before, MAX_SEQ)), end: laneKey(lane, 0), reverse: true, transaction }
  const isAlive = (token: string, seq: number): boolean => {
    const at = readLocation(file.tokens.get(tokenNumber(token) ?? 0, { transaction }))
    return at?.lane === lane && at.seq === seq
  }
  const check = (line: string, seq: number): Step => {
    if (seq >= before || seq <= behind) return { seq }
    const entry = sound(() => fromLine(line, pinned))
    return entry !== undefined && fits(entry) && isAlive(entry.summary.token, seq) ? { seq, entry } : { seq }
  }
  for (const { value } of file.waiting.getRange(range)) {
    const { seqs, lines } = readWaiting(value)
    for (let i = seqs.length - 1; i >= 0; i--) {
      const seq = seqs[i] ?? 0
      if (seq <= behind) return
      yield check(lines[i] ?? '', seq)
    }
  }
  const search = new BlockSearch(criteria)
  for (const { key, value: zone } of file.zones.getRange(range)) {
    const span = sound(() => spanOf(zone))
    if (span === undefined || span.first >= before) continue
    if (span.last <= behind) return
    yield { seq: span.last }
    for (const { line, seq } of sound(() => candidates(file, key, search, zone, span.rows, transaction)) ?? []) yield check(line, seq)
  }
}

/** What of a block may fit, newest first. */
function candidates (file: StoreFile, key: number, search: BlockSearch, zone: Buffer, rows: number, transaction: Transaction): Array<{ line: string, seq: number }> {
  if (!search.mayHold(zone)) return []
  const read = (column: Column): Buffer => file.columns.get(columnKey(key, column), { transaction }) ?? Buffer.alloc(0)
  const found = search.candidates(rows, read)
  if (found.length === 0) return []
  const lines = read('rows')
  const seqs = read('seq')
  return found.reverse().map((index) => ({ line: lineAt(lines, index), seq: seqAt(seqs, index) }))
}

/** A damaged summary, or block of them, is passed over: it must not hide the rest. */
function sound<T> (read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
