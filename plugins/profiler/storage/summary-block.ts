import { addressBitsOf, addressFilter, keepAddresses, packAddresses } from './address-column.js'
import { nameMatcher, statusRange, type Criteria } from './criteria.js'
import type { IndexEntry, ProfileSummary } from './summary.js'
import { bitsOf, findTexts, packTexts, pairBitsOf, textAt } from './text-column.js'
import { hasAddress, hasPairs, hasSignature, latest, earliest, longest, numbers, packZone, statusesOf } from './zone.js'

export { spanOf } from './zone.js'

/** The parts of a block; each is read only by a search that needs it. */
export const COLUMNS = ['seq', 'status', 'time', 'duration', 'method', 'route', 'ip', 'parent', 'url', 'exceptions', 'rows'] as const

export type Column = typeof COLUMNS[number]

/** Many summaries, never changed again: what a search reads to rule the whole block out, and the columns. */
export interface SummaryBlock {
  zone: Buffer
  columns: Record<Column, Buffer>
}

type Line = [string, string, string, string, number, string, number, boolean, string | null, string | null, number, string | null, string]

/** A summary as one line of text. */
export function toLine ({ summary, exceptions }: IndexEntry): string {
  const { token, time, method, url, status, ip, duration, error, route, exception, warnings, parent } = summary
  return JSON.stringify([token, time, method, url, status, ip, duration, error, route, exception, warnings, parent, exceptions] satisfies Line)
}

/** The summary that a line holds. */
export function fromLine (line: string, pinned = false): IndexEntry {
  const [token, time, method, url, status, ip, duration, error, route, exception, warnings, parent, exceptions] = JSON.parse(line) as Line
  const summary: ProfileSummary = { token, time, method, url, status, ip, duration, error, route, exception, warnings, parent, pinned }
  return { summary, exceptions }
}

/** Whether a line can be read. */
export function isLine (line: string): boolean {
  try {
    fromLine(line)
    return true
  } catch {
    return false
  }
}

/** Packs lines, oldest first, with the numbers that order them. */
export function packBlock (lines: readonly string[], seqs: readonly number[]): SummaryBlock {
  const entries = lines.map((line) => fromLine(line))
  const summaries = entries.map(({ summary }) => summary)
  const times = summaries.map(({ time }) => Date.parse(time))
  const durations = summaries.map(({ duration }) => duration)
  const statuses = summaries.map(({ status }) => status)
  const addresses = summaries.map(({ ip }) => ip)
  const url = packTexts(summaries.map(({ url }) => url.toLowerCase()))
  const exceptions = packTexts(entries.some(({ exceptions }) => exceptions !== '') ? entries.map(({ exceptions }) => exceptions.toLowerCase()) : [])
  return {
    zone: packZone({ seqs, times, durations, statuses, addresses, url, exceptions }),
    columns: {
      seq: numbers(seqs),
      status: numbers(statuses),
      time: numbers(times),
      duration: numbers(durations),
      method: packNames(summaries.map(({ method }) => method)),
      route: packNames(summaries.map(({ route }) => route)),
      ip: packAddresses(addresses),
      parent: packNames(summaries.map(({ parent }) => parent)),
      url,
      exceptions,
      rows: packTexts(lines)
    }
  }
}

/** One line of a block. */
export function lineAt (rows: Buffer, index: number): string {
  return textAt(rows, index)
}

/** The number that orders one of the lines. */
export function seqAt (seq: Buffer, index: number): number {
  return seq.readDoubleLE(8 * index)
}

/** Looks for summaries in blocks. What it finds is a candidate: the matcher of the criteria has the last word. */
export class BlockSearch {
  readonly #zoneTests: Array<(zone: Buffer) => boolean> = []
  readonly #filters: Array<[column: Column, filter: (column: Buffer, alive: Uint8Array) => void]> = []

  constructor (criteria: Criteria) {
    const { from, until, minDuration, method, parent, status } = criteria
    if (from !== undefined) this.#zoneTests.push((zone) => latest(zone) >= from)
    if (until !== undefined) this.#zoneTests.push((zone) => earliest(zone) <= until)
    if (minDuration !== undefined) this.#zoneTests.push((zone) => longest(zone) >= minDuration)
    if (from !== undefined || until !== undefined) this.#number('time', (time) => time >= (from ?? -Infinity) && time <= (until ?? Infinity))
    if (minDuration !== undefined) this.#number('duration', (duration) => duration >= minDuration)
    if (status !== undefined) {
      const [lowest, highest] = statusRange(status)
      this.#zoneTests.push((zone) => statusesOf(zone).some((one) => one >= lowest && one <= highest))
      this.#number('status', (one) => one >= lowest && one <= highest)
    }
    if (method !== undefined) this.#name('method', (name) => name?.toUpperCase() === method.toUpperCase())
    if (parent !== undefined) this.#name('parent', (name) => name === parent)
    if (criteria.route !== undefined) this.#name('route', nameMatcher(criteria.route))
    if (criteria.ip !== undefined) {
      const fits = addressFilter(criteria.ip)
      const bits = addressBitsOf(criteria.ip)
      this.#zoneTests.push((zone) => hasAddress(zone, bits))
      this.#filters.push(['ip', (addresses, alive) => keepAddresses(addresses, alive, fits)])
    }
    if (criteria.url !== undefined) this.#text('url', criteria.url)
    if (criteria.exception !== undefined) this.#text('exceptions', criteria.exception)
  }

  /** Whether a block can hold anything that is looked for. */
  mayHold (zone: Buffer): boolean {
    return this.#zoneTests.every((test) => test(zone))
  }

  /** The candidates of a block, oldest first. */
  candidates (rows: number, read: (column: Column) => Buffer): number[] {
    const alive = new Uint8Array(rows).fill(1)
    for (const [column, filter] of this.#filters) {
      filter(read(column), alive)
      if (!alive.includes(1)) return []
    }
    const found: number[] = []
    for (let i = 0; i < rows; i++) if (alive[i] === 1) found.push(i)
    return found
  }

  #number (column: Column, fits: (value: number) => boolean): void {
    this.#filters.push([column, (values, alive) => {
      for (let i = 0; i < alive.length; i++) if (alive[i] === 1 && !fits(values.readDoubleLE(8 * i))) alive[i] = 0
    }])
  }

  /** Names come back in block after block: each is judged once. */
  #name (column: Column, fits: (name: string | null) => boolean): void {
    const judged = new Map<string | null, boolean>()
    this.#filters.push([column, (names, alive) => {
      if (judged.size > 10_000) judged.clear()
      const fitting = (JSON.parse(names.toString('utf8', 2 * alive.length)) as Array<string | null>).map((name) => {
        const known = judged.get(name)
        if (known !== undefined) return known
        const fit = fits(name)
        judged.set(name, fit)
        return fit
      })
      if (!fitting.includes(true)) alive.fill(0)
      else if (fitting.includes(false)) for (let i = 0; i < alive.length; i++) if (fitting[names.readUInt16LE(2 * i)] !== true) alive[i] = 0
    }])
  }

  #text (column: 'url' | 'exceptions', wanted: string): void {
    const lower = wanted.toLowerCase()
    // Half of a surrogate pair is found in text, not in its bytes.
    if (!lower.isWellFormed() || lower === '') return
    const needle = Buffer.from(lower)
    const bits = bitsOf(needle)
    this.#zoneTests.push((zone) => hasSignature(zone, column, bits))
    const pairs = column === 'url' ? pairBitsOf(needle) : []
    if (pairs.length > 0) this.#zoneTests.push((zone) => hasPairs(zone, pairs))
    this.#filters.push([column, (texts, alive) => {
      const has = new Uint8Array(alive.length)
      findTexts(texts, needle, (index) => { has[index] = 1 })
      for (let i = 0; i < alive.length; i++) if (has[i] !== 1) alive[i] = 0
    }])
  }
}

function packNames (names: ReadonlyArray<string | null>): Buffer {
  const distinct = new Map<string | null, number>()
  const indexes = Buffer.allocUnsafe(2 * names.length)
  names.forEach((name, i) => {
    const index = distinct.get(name) ?? distinct.size
    distinct.set(name, index)
    indexes.writeUInt16LE(index, 2 * i)
  })
  return Buffer.concat([indexes, Buffer.from(JSON.stringify([...distinct.keys()]))])
}
