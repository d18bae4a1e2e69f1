import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StorageUnusableError, type StoreFile } from './store-file.js'

const FIRST_DELAY = 1_000
const MAX_DELAY = 30_000
/** What a batch changes beside its own bytes: pages of every tree, and a block of summaries now and then. */
const MARGIN = 1024 * 1024
const BYTES_A_PROFILE = 8_192
/** Where there is room for all that can come in between, the system is asked no more often than this (ms). */
const EVERY = 250
const AMPLE = 1024 * 1024 * 1024

/** Keeps a store from asking LMDB for what the disk has no room for: LMDB prints a stack trace whenever it cannot commit. */
export class Room {
  #error: unknown
  #delay = 0
  #until = 0
  #free = 0
  #askedAt = -Infinity

  /** Rejects where a batch would not find room, and for a while after a write that failed for another reason. */
  async check (path: string, file: StoreFile, bytes: number, profiles: number): Promise<void> {
    const needed = bytes + profiles * BYTES_A_PROFILE + MARGIN
    if (this.#error === undefined && performance.now() - this.#askedAt < EVERY && this.#free > AMPLE) return
    this.#askedAt = performance.now()
    const free = await freeBytes(path)
    // What was evicted leaves pages in the file that are written anew.
    if (free < needed && reusableBytes(file) < needed) throw new StorageUnusableError(path, 'the disk is full')
    const hasGrown = free >= this.#free + needed
    if (this.#error !== undefined && performance.now() < this.#until && !hasGrown) throw this.#error
    this.#free = free
  }

  /** Told of a commit that failed. */
  failed (error: unknown): void {
    this.#error = error
    this.#delay = Math.min(Math.max(FIRST_DELAY, this.#delay * 2), MAX_DELAY)
    this.#until = performance.now() + this.#delay
  }

  /** Told of one that did not. */
  succeeded (): void {
    this.#error = undefined
    this.#delay = 0
  }
}

/** Where the system does not say, there is room until a write fails. */
async function freeBytes (path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(dirname(path))
    return bavail * bsize
  } catch {
    return Number.MAX_SAFE_INTEGER
  }
}

interface Pages {
  treeBranchPageCount: number
  treeLeafPageCount: number
  overflowPages: number
}

function reusableBytes (file: StoreFile): number {
  const { root, tokens, chunks, slots, waiting, zones, columns } = file
  const whole = root.getStats() as Pages & { free: Pages, root: Pages, pageSize: number, lastPageNumber: number }
  const used = [whole, whole.free, ...[tokens, chunks, slots, waiting, zones, columns].map((database) => database.getStats() as Pages)]
    .reduce((sum, pages) => sum + pages.treeBranchPageCount + pages.treeLeafPageCount + pages.overflowPages, 2)
  return (whole.lastPageNumber + 1 - used) * whole.pageSize
}
