import type { Criteria } from '../criteria.js'
import { BlockSearch, fromLine, lineAt, seqAt, spanOf } from '../summary-block.js'
import type { IndexEntry } from '../summary.js'
import { columnsFor, type Blocks } from './blocks.js'
import { headOf, isPinned } from './codec.js'
import type { RedisConnection } from './connection.js'
import { HEADS } from './scripts.js'

/** An entry with its place among all. */
export interface Found extends IndexEntry {
  order: number
}

/** What a way through the store begins with. */
export interface WalkOptions {
  connection: RedisConnection
  root: string
  blocks: Blocks
  criteria: Criteria
  /** What is wanted at least, if there is so much. */
  limit: number
  /** Only older ones. */
  before?: number
  /** Only newer ones. */
  behind?: number
}

/** A block by its name, and the number of its last row. */
export interface Block {
  id: string
  last: number
}

const MAX_BLOCKS_READ = 64
/** Rows are the most of a block. */
const MAX_ROWS_READ = 16

/** Reads blocks as far as needed: those that may hold what is looked for, and of these the columns that decide. */
export class BlockReader {
  readonly #options: WalkOptions
  readonly #search: BlockSearch
  readonly #isFiltered: boolean
  readonly #fits: (entry: IndexEntry) => boolean
  readonly #behind: number
  readonly #gone = new Set<string>()
  #size: number

  constructor (options: WalkOptions, isFiltered: boolean, fits: (entry: IndexEntry) => boolean, behind: number) {
    this.#options = options
    this.#search = new BlockSearch(options.criteria)
    this.#isFiltered = isFiltered
    this.#fits = fits
    this.#behind = behind
    this.#size = isFiltered ? 4 : 1
  }

  /** What fits, and down to which number nothing is missing; ends at the bound, or above where a block was replaced meanwhile. */
  async * read (blocks: readonly Block[], below: number, bound: number): AsyncGenerator<{ found: Found[], down: number }> {
    // What is not packed may be enough.
    yield { found: [], down: Math.max(bound, (blocks[0]?.last ?? -1) + 1) }
    const zones = this.#isFiltered ? await this.#options.blocks.zones(blocks.map(({ id }) => id)) : undefined
    const left = blocks.filter(({ id }) => !this.#gone.has(id) && (zones === undefined || this.#mayHold(zones.get(id), below)))
    while (left.length > 0) {
      const part = left.splice(0, this.#size)
      this.#size = Math.min(2 * this.#size, MAX_BLOCKS_READ)
      const { found, missing } = await this.#readPart(part, zones, below, bound)
      if (missing !== undefined) {
        // Once it may have been replaced; then there is another. A second time it is lost.
        this.#gone.add(missing.id)
        const down = Math.max(bound, missing.last + 1)
        if (down < below) yield { found: found.filter(({ order }) => order >= down), down }
        return
      }
      yield { found, down: Math.max(bound, (left[0]?.last ?? -1) + 1) }
    }
    if (blocks.length > 0) yield { found: [], down: bound }
  }

  /** One without a zone is to be noticed as missing. */
  #mayHold (zone: Buffer | undefined, below: number): boolean {
    if (zone === undefined) return true
    const { first, last } = spanOf(zone)
    return first < below && last > this.#behind && this.#search.mayHold(zone)
  }

  async #readPart (part: readonly Block[], zones: Map<string, Buffer> | undefined, below: number, bound: number): Promise<{ found: Found[], missing?: Block }> {
    const candidates = zones === undefined ? new Map(part.map(({ id }) => [id, undefined])) : await this.#candidates(part, zones)
    const found: Found[] = []
    const withRows = part.filter(({ id }) => candidates.has(id))
    let missing = part.find(({ id }) => zones !== undefined && !zones.has(id))
    for (let at = 0; at < withRows.length; at += MAX_ROWS_READ) {
      const some = withRows.slice(at, at + MAX_ROWS_READ)
      const read = await this.#options.blocks.read(some.map(({ id }) => id), ['seq', 'rows'])
      for (const block of some) {
        const [seq, rows] = read.get(block.id) ?? []
        if (seq === undefined || rows === undefined) {
          if (missing === undefined || block.last > missing.last) missing = block
          continue
        }
        const indexes = candidates.get(block.id) ?? Array.from({ length: seq.length / 8 }, (_, i) => i)
        for (const i of indexes) {
          const order = seqAt(seq, i)
          if (order >= below || order < bound || order <= this.#behind) continue
          const entry = fromLine(lineAt(rows, i))
          if (this.#fits(entry)) found.push({ order, ...entry })
        }
      }
    }
    return { found: await this.#alive(found), ...(missing !== undefined && { missing }) }
  }

  /** The blocks that have candidates, and which. */
  async #candidates (part: readonly Block[], zones: Map<string, Buffer>): Promise<Map<string, number[] | undefined>> {
    const columns = columnsFor(this.#options.criteria)
    const read = columns.length === 0 ? undefined : await this.#options.blocks.read(part.map(({ id }) => id), columns)
    const found = new Map<string, number[] | undefined>()
    for (const { id } of part) {
      const zone = zones.get(id)
      const values = read?.get(id)
      // Without its columns it is read as a whole, and then noticed as missing.
      if (zone === undefined || (read !== undefined && values === undefined)) found.set(id, undefined)
      else {
        const candidates = this.#search.candidates(spanOf(zone).rows, (column) => values?.[columns.indexOf(column)] as Buffer)
        if (candidates.length > 0) found.set(id, candidates)
      }
    }
    return found
  }

  /** A block still has rows of profiles that are gone, and does not know which are pinned. */
  async #alive (found: Found[]): Promise<Found[]> {
    if (found.length === 0) return found
    const { connection, root } = this.#options
    const heads = (await connection.run(HEADS, `${root}meta`, root, ...found.map(({ summary }) => summary.token)) as Buffer[]).map(headOf)
    return found.filter(({ order, summary }, i) => {
      const head = heads[i]
      if (head?.order !== order) return false
      summary.pinned = isPinned(head.lane)
      return true
    })
  }
}
