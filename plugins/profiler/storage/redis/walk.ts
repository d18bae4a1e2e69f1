import { matcher, type Criteria } from '../criteria.js'
import { InvalidCursorError } from '../storage.js'
import type { IndexEntry } from '../summary.js'
import { decodeRow, LANES, type Lane } from './codec.js'
import type { RedisConnection, Reply } from './connection.js'
import { ROWS } from './scripts.js'

/** An entry with its place among all. */
export interface Found extends IndexEntry {
  order: number
}

/** What one round trip has brought: what fits, newest first; and how far the store had come. */
export interface Step {
  found: Found[]
  head: number
}

export interface WalkOptions {
  root: string
  criteria: Criteria
  /** What is wanted at least, if there is so much. */
  limit: number
  /** Only older ones. */
  before?: number
  /** Only newer ones. */
  behind?: number
}

const MAX_ROWS = 1_000

/** The number that a cursor stands for. */
export function position (cursor: string): number {
  if (/^(?:0|[1-9]\d{0,14})$/.test(cursor)) return Number(cursor)
  throw new InvalidCursorError(cursor)
}

/** The lanes in which there may be what is asked for. */
export function lanesOf ({ error }: Criteria): readonly Lane[] {
  return LANES.filter((lane) => error === undefined || error === (lane.toLowerCase() === 'f'))
}

/** Goes through the store, newest first, as far as it is asked to; at least one step. */
export async function * walk (connection: RedisConnection, { root, criteria, limit, before = Infinity, behind = 0 }: WalkOptions): AsyncGenerator<Step> {
  const fits = matcher(criteria)
  const isFiltered = Object.keys(criteria).some((name) => name !== 'error')
  const lanes = lanesOf(criteria)
  let count = isFiltered ? Math.max(limit, 100) : limit
  for (;;) {
    const wanted = Math.min(count, MAX_ROWS)
    const upTo = before === Infinity ? '+inf' : `(${before}`
    const [head, ...answers] = await connection.run(ROWS, `${root}meta`, root, lanes.join(''), `(${behind}`, upTo, String(wanted)) as Reply[]
    const rows = lanes.flatMap((lane, i) => rowsOf(answers[i], lane))
    // A lane that has given all it may can have more behind its last one, which comes ahead of older ones of others.
    const bounds = lanes.map((lane) => rows.filter((row) => row.lane === lane)).filter((own) => own.length >= wanted).map((own) => own.at(-1)?.order ?? 0)
    const bound = Math.max(0, ...bounds)
    const found = rows.filter((row) => row.order >= bound).sort((a, b) => b.order - a.order)
      .map(({ order, lane, text }) => ({ order, ...decodeRow(text, lane === 'S' || lane === 'F') })).filter(fits)
    yield { found, head: Number(head) }
    if (bound === 0) return
    before = bound
    count *= 3
  }
}

function rowsOf (answer: Reply | undefined, lane: Lane): Array<{ lane: Lane, order: number, text: string }> {
  if (!Array.isArray(answer)) return []
  return Array.from({ length: answer.length / 2 }, (_, i) => ({ lane, order: Number(answer[i * 2 + 1]), text: String(answer[i * 2]) }))
}
