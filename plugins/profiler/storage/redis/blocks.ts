import type { Criteria } from '../criteria.js'
import { COLUMNS, packBlock, type Column } from '../summary-block.js'
import type { Argument, RedisConnection, Reply } from './connection.js'
import { FIELDS } from './scripts.js'

/** Blocks and what was read of them. */
export type Fields = Map<string, Buffer>

const MAX_CACHED_BYTES = 32 * 1024 * 1024

/** The columns that decide about each criterion; the others need the whole row. */
const DECIDING: Partial<Record<keyof Criteria, Column>> = {
  status: 'status', from: 'time', until: 'time', minDuration: 'duration', method: 'method', route: 'route', ip: 'ip', parent: 'parent', url: 'url', exception: 'exceptions'
}

/** The columns that a search reads before it reads rows. */
export function columnsFor (criteria: Criteria): Column[] {
  const columns = Object.entries(DECIDING).filter(([name]) => criteria[name as keyof Criteria] !== undefined).map(([, column]) => column)
  return [...new Set(columns)]
}

/** Names and bytes of the fields of a new block. */
export function blockFields (lines: readonly string[], orders: readonly number[]): Argument[] {
  const { zone, columns } = packBlock(lines, orders)
  return ['zone', zone, ...COLUMNS.flatMap((column) => [column, columns[column]])]
}

/** Reads blocks. What rules a block out is kept for the next search, as no block is ever changed. */
export class Blocks {
  readonly #connection: RedisConnection
  readonly #root: string
  readonly #zones = new Map<string, Buffer>()
  #bytes = 0

  constructor (connection: RedisConnection, root: string) {
    this.#connection = connection
    this.#root = root
  }

  /** Forgets what it knows: after a restart Redis may have given the same names again. */
  clear (): void {
    this.#zones.clear()
    this.#bytes = 0
  }

  /** The zones of these blocks; one that is gone is missing. */
  async zones (ids: readonly string[]): Promise<Fields> {
    const unknown = ids.filter((id) => !this.#zones.has(id))
    const read = unknown.length === 0 ? new Map<string, Buffer[]>() : await this.read(unknown, ['zone'])
    const zones: Fields = new Map()
    for (const id of ids) {
      const zone = this.#zones.get(id) ?? read.get(id)?.[0]
      if (zone === undefined) continue
      zones.set(id, zone)
      this.#keep(id, zone)
    }
    return zones
  }

  /** Some columns of each of these blocks; one that is gone is missing. */
  async read (ids: readonly string[], names: ReadonlyArray<Column | 'zone'>): Promise<Map<string, Buffer[]>> {
    const answer = await this.#connection.run(FIELDS, `${this.#root}meta`, this.#root, String(names.length), ...names, ...ids) as Reply[][]
    const found = new Map<string, Buffer[]>()
    for (const [i, id] of ids.entries()) {
      const values = answer[i] ?? []
      if (values.every(Buffer.isBuffer)) found.set(id, values)
    }
    return found
  }

  /** The zones used last stay. */
  #keep (id: string, zone: Buffer): void {
    if (this.#zones.delete(id)) this.#bytes -= zone.length
    // A copy of its own: this one may be a part of a large answer.
    this.#zones.set(id, zone.buffer.byteLength > 2 * zone.length ? Buffer.from(zone) : zone)
    this.#bytes += zone.length
    // Those in front have been taken out and put back so often that only to look for the first of them takes long.
    if (this.#bytes <= MAX_CACHED_BYTES) return
    for (const [oldest, { length }] of this.#zones) {
      if (this.#bytes <= MAX_CACHED_BYTES) return
      this.#zones.delete(oldest)
      this.#bytes -= length
    }
  }
}
