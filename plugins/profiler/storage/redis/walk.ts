import { matcher } from '../criteria.js'
import { InvalidCursorError } from '../storage.js'
import { fromLine } from '../summary-block.js'
import { BlockReader, type Block, type Found, type WalkOptions } from './block-reader.js'
import { isPinned, LANES } from './codec.js'
import type { Reply } from './connection.js'
import { ROWS } from './scripts.js'

/** What was found, newest first; and how far the store had come. */
export interface Step {
  found: Found[]
  head: number
}

const MAX_ROWS = 1_000
const MAX_BLOCKS = 512
const FIRST_BLOCKS = 16

/** The number that a cursor stands for. */
export function position (cursor: string): number {
  if (/^(?:0|[1-9]\d{0,14})$/.test(cursor)) return Number(cursor)
  throw new InvalidCursorError(cursor)
}

/** Goes through the store, newest first, as far as it is asked to; at least one step. */
export async function * walk (options: WalkOptions): AsyncGenerator<Step> {
  const { connection, root, criteria, limit, before = Infinity, behind = 0 } = options
  const fits = matcher(criteria)
  const isFiltered = Object.keys(criteria).some((name) => name !== 'error')
  const lanes = LANES.filter((lane) => criteria.error === undefined || criteria.error === (lane.toLowerCase() === 'f'))
  const reader = new BlockReader(options, isFiltered, fits, behind)
  let below = before
  let count = isFiltered ? Math.max(limit, 100) : limit
  let blockCount = FIRST_BLOCKS
  for (;;) {
    const wanted = Math.min(count, MAX_ROWS)
    const [reached, ...answers] = await connection.run(ROWS, `${root}meta`, root, lanes.join(''), String(behind), below === Infinity ? '+inf' : String(below), String(wanted), String(blockCount)) as Reply[]
    const head = Number(reached)
    // Below this there may be more than was answered.
    let bound = 0
    const rows: Found[] = []
    const blocks: Block[] = []
    for (const [i, lane] of lanes.entries()) {
      const own = pairs(answers[i * 2]).map(({ text, number }) => ({ order: number, text, lane }))
      if (own.length >= wanted) bound = Math.max(bound, own.at(-1)?.order ?? 0)
      for (const { order, text } of own) rows.push({ order, ...fromLine(text, isPinned(lane)) })
      const packed = blocksOf(answers[i * 2 + 1])
      if (packed.length >= blockCount) bound = Math.max(bound, (packed.at(-1)?.last ?? 0) + 1)
      blocks.push(...packed)
    }
    let pending = rows.filter((row) => row.order >= bound && fits(row))
    const left = blocks.filter(({ last }) => last >= bound).sort((a, b) => b.last - a.last)
    let next = below
    for await (const { found, down } of reader.read(left, below, bound)) {
      pending.push(...found)
      yield { found: merged(pending.filter(({ order }) => order >= down)), head }
      pending = pending.filter(({ order }) => order < down)
      next = Math.min(next, down)
    }
    if (next === 0) return
    below = next
    count *= 3
    blockCount = Math.min(blockCount * 4, MAX_BLOCKS)
  }
}

function merged (found: Found[]): Found[] {
  // One that was pinned, and is not any more, has a row beside the one in its block.
  return [...new Map(found.map((one) => [one.order, one])).values()].sort((a, b) => b.order - a.order)
}

// Of a block's name: the number of its last row, and one that tells it from others.
function blocksOf (answer: Reply | undefined): Block[] {
  return Array.isArray(answer) ? answer.map(String).map((id) => ({ id, last: Number.parseInt(id) })) : []
}

function pairs (answer: Reply | undefined): Array<{ text: string, number: number }> {
  if (!Array.isArray(answer)) return []
  return Array.from({ length: answer.length / 2 }, (_, i) => ({ text: String(answer[i * 2]), number: Number(answer[i * 2 + 1]) }))
}
