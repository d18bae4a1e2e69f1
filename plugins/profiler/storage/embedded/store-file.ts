import createError from '@fastify/error'
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

/** Raised where a store cannot be opened or written; who calls says so once and goes on without. */
export const StorageUnusableError = createError('HINDSIGHT_STORAGE_UNUSABLE', 'The store "%s" cannot be used: %s', 503)

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

/** The outcome of a transaction; where it could not be committed, as on a full disk, nothing of it was written and the reason is told. */
export async function committed<T> (path: string, transaction: Promise<T>): Promise<T> {
  try {
    return await transaction
  } catch (error) {
    if (!(error instanceof Error) || !('commitError' in error)) throw error
    // LMDB gives the reason in a promise of its own, which must be heard.
    const reason: unknown = await Promise.resolve(error.commitError).catch((reason: unknown) => reason)
    throw new StorageUnusableError(path, reason instanceof Error ? reason.message : 'the transaction failed')
  }
}
