import type { Database, RootDatabase, Transaction } from 'lmdb'
import { COLUMNS, type Column } from '../summary-block.js'
import { emptyState, type State } from './layout.js'

/** The databases of one store. */
export interface StoreFile {
  root: RootDatabase<string, string>
  /** Where each token's profile is. */
  tokens: Database<Buffer, number>
  /** Profiles, many a value. */
  chunks: Database<Buffer, number>
  /** Who is in each chunk. */
  slots: Database<Buffer, number>
  /** Summaries that wait to be packed, by chunk. */
  waiting: Database<string, number>
  /** What a search reads of a block of summaries first. */
  zones: Database<Buffer, number>
  columns: Database<Buffer, number>
}

const STATE = 'state'

/** The key of a block's column. */
export function columnKey (block: number, column: Column): number {
  return block * 16 + COLUMNS.indexOf(column)
}

/** What is known of the whole store, as of a transaction. */
export function readState ({ root }: StoreFile, transaction?: Transaction): State {
  const text = root.get(STATE, transaction && { transaction })
  return text === undefined ? emptyState() : JSON.parse(text) as State
}

/** Writes it, within a transaction. */
export function writeState ({ root }: StoreFile, state: State): void {
  root.putSync(STATE, JSON.stringify(state))
}
