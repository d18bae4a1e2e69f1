import { setImmediate as turn } from 'node:timers/promises'
import type { Transaction } from 'lmdb'
import type { Criteria } from '../criteria.js'
import type { IndexEntry } from '../summary.js'
import { readLocation, tokenNumber } from './layout.js'
import { walk, type Range } from './steps.js'
import { readState, type StoreFile } from './store-file.js'

/** How long a search keeps others waiting. */
const PATIENCE = 10

/** A summary and the number that orders it. */
export interface Found extends IndexEntry {
  seq: number
}

/** The newest that fit, as of one moment, and the number of the newest profile then; `pause` is called now and then and may end it by throwing. */
export async function find (file: StoreFile, criteria: Criteria, limit: number, range: Range, pause: () => void): Promise<{ found: Found[], head: number }> {
  const transaction = file.root.useReadTransaction()
  try {
    const { seq: head } = readState(file, transaction)
    const found: Found[] = []
    const within = criteria.token === undefined ? range : around(file, criteria.token, range, transaction)
    if (within === undefined) return { found, head }
    let since = performance.now()
    for (const { seq, entry } of walk(file, criteria, within, transaction)) {
      if (entry !== undefined && found.push({ ...entry, seq }) >= limit) break
      if (performance.now() - since < PATIENCE) continue
      await turn()
      pause()
      since = performance.now()
    }
    return { found, head }
  } finally {
    transaction.done()
  }
}

/** One profile alone. */
function around (file: StoreFile, token: string, { behind, before }: Range, transaction: Transaction): Range | undefined {
  const number = tokenNumber(token)
  const at = number === undefined ? undefined : readLocation(file.tokens.get(number, { transaction }))
  if (at === undefined) return undefined
  const { seq } = at
  return { behind: Math.max(behind, seq - 1), before: Math.min(before, seq + 1) }
}
