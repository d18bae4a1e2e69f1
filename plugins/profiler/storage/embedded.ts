import { setImmediate as turn } from 'node:timers/promises'
import createError from '@fastify/error'
import { wholeProfile, type Profile, type ProfileDraft } from '../profile.js'
import type { Criteria } from './criteria.js'
import type { Found } from './embedded/find.js'
import { ALL_LANES, FATES, isFailureLane, isPinnedLane, laneKey, LANES, MAX_SEQ, readLocation, sumOf, tokenNumber, type State } from './embedded/layout.js'
import { Ledger } from './embedded/ledger.js'
import { openFile } from './embedded/open.js'
import { pin, profileAt } from './embedded/pins.js'
import { Room } from './embedded/room.js'
import type { SharedFile } from './embedded/shared-file.js'
import { committed, readState, StorageUnusableError, writeState, type StoreFile } from './embedded/store-file.js'
import { PackedBatch } from './packed-batch.js'
import { DEFAULT_BOUNDS, InvalidCursorError, type ProfilePage, type ProfileStorage, type SearchOptions, type StorageBounds, type StorageStats } from './storage.js'

const BATCH = 512
/** So many are packed without letting others work. */
const AT_ONCE = 64
const PURGE_PAGE = 500

/** Raised by what is asked of a store that was closed. */
export const StorageClosedError = createError('HINDSIGHT_STORAGE_CLOSED', 'The store "%s" is closed.', 503)

export interface EmbeddedStorageOptions extends Partial<StorageBounds> {
  /** The file; its folder is made where there is none. */
  path: string
  /** Told what people should know: a store that was set aside. */
  warn?: (message: string, error?: unknown) => void
}

/** Keeps profiles in one file of this machine, which several processes may share. */
export class EmbeddedStorage implements ProfileStorage {
  readonly #shared: SharedFile
  readonly #path: string
  readonly #given: Partial<StorageBounds>
  readonly #room = new Room()
  readonly #running = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor (shared: SharedFile, path: string, bounds: Partial<StorageBounds>) {
    this.#shared = shared
    this.#path = path
    this.#given = bounds
  }

  async put (profiles: ReadonlyArray<Profile | ProfileDraft>): Promise<void> {
    this.#mustBeOpen()
    const newest = new Map(profiles.map(({ token }, place) => [token, place]))
    const all = profiles.filter(({ token }, place) => newest.get(token) === place)
    for (let at = 0; at < all.length; at += BATCH) {
      const batch = this.batch()
      for (const [i, profile] of all.slice(at, at + BATCH).entries()) {
        if (i > 0 && i % AT_ONCE === 0) await turn()
        batch.add(profile)
      }
      await batch.write()
    }
  }

  batch (): PackedBatch {
    // One that is closed says so when it is to write.
    const maxBytes = this.#closing === undefined ? this.#boundsOf(readState(this.#shared.file)).maxBytes : Infinity
    return new PackedBatch(maxBytes, async (portions, length) => {
      const bytes = portions.reduce((sum, { chunk }) => sum + chunk.data.length, 0)
      const isDone = await this.#write((ledger) => {
        ledger.add(portions, length)
        return ledger.evict()
      }, async (file) => await this.#room.check(this.#path, file, bytes, length))
      if (!isDone) await this.#evict()
    })
  }

  async get (token: string): Promise<Profile | undefined> {
    const number = tokenNumber(token)
    if (number === undefined) return undefined
    this.#mustBeOpen()
    return await this.#run(false, (file) => {
      const at = readLocation(file.tokens.get(number))
      const profile = at && profileAt(file, at)
      return profile && wholeProfile(profile)
    })
  }

  has (token: string): boolean {
    const number = tokenNumber(token)
    return number !== undefined && this.#closing === undefined && this.#shared.file.tokens.doesExist(number)
  }

  async search ({ criteria = {}, limit, cursor, after }: SearchOptions): Promise<ProfilePage> {
    const before = cursor === undefined ? MAX_SEQ : position(cursor)
    const behind = after === undefined ? 0 : position(after)
    const { found, head } = await this.#find(criteria, limit + 1, behind, before)
    // The place of another store, or of one that began anew.
    if (after !== undefined && behind > head) throw new InvalidCursorError(after)
    if (cursor !== undefined && before > head) throw new InvalidCursorError(cursor)
    const page = found.slice(0, limit)
    return {
      profiles: page.map(({ summary }) => summary),
      next: found.length > limit ? String(page.at(-1)?.seq) : null,
      head: String(head)
    }
  }

  async pin (token: string, pinned: boolean): Promise<boolean> {
    const number = tokenNumber(token)
    if (number === undefined) return false
    return await this.#write((ledger, file) => {
      const isThere = pin(file, ledger, token, number, pinned)
      ledger.evict()
      return isThere
    })
  }

  async purge (criteria: Criteria = {}, { pinned = false }: { pinned?: boolean } = {}): Promise<number> {
    if (Object.values(criteria).every((value) => value === undefined)) {
      const { purgeAll } = await import('./embedded/purge.js')
      return await this.#write((ledger, file) => purgeAll(file, ledger, pinned))
    }
    let purged = 0
    let newest: number | undefined
    for (let before = MAX_SEQ; ;) {
      const { found } = await this.#find(criteria, PURGE_PAGE, 0, before)
      const last = found.at(-1)
      if (last === undefined) break
      newest ??= found[0]?.seq
      before = last.seq
      purged += await this.#write((ledger) => found.filter(({ seq, summary }) => {
        const number = tokenNumber(summary.token) ?? 0
        const at = ledger.find(number)
        if (at?.seq !== seq || (isPinnedLane(at.lane) && !pinned)) return false
        ledger.remove(number, at)
        return true
      }).length)
    }
    if (purged > 0) await this.#tidy(newest ?? 0)
    return purged
  }

  async stats (): Promise<StorageStats> {
    this.#mustBeOpen()
    const state = await this.#run(false, (file) => readState(file))
    const { profiles, bytes } = sumOf(state, ALL_LANES)
    return {
      engine: 'embedded',
      place: this.#path,
      profiles,
      bytes,
      failures: sumOf(state, ALL_LANES.filter(isFailureLane)).profiles,
      pinned: sumOf(state, FATES.pinned).profiles,
      ...this.#boundsOf(state)
    }
  }

  async close (): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  async #close (): Promise<void> {
    await Promise.allSettled(this.#running)
    await this.#shared.leave()
  }

  async #tidy (until: number): Promise<void> {
    const { tidy } = await import('./embedded/purge.js')
    for (const lane of [LANES.success, LANES.failure]) {
      for (let after: number | undefined = laneKey(lane, 0); after !== undefined;) {
        const from: number = after
        after = await this.#write((ledger, file) => tidy(file, ledger, lane, from, until))
      }
    }
  }

  async #evict (): Promise<void> {
    while (!await this.#write((ledger) => ledger.evict()));
  }

  async #find (criteria: Criteria, limit: number, behind: number, before: number): Promise<{ found: Found[], head: number }> {
    this.#mustBeOpen()
    return await this.#run(false, async (file) => {
      // What only readers need is loaded with the first of them.
      const { find } = await import('./embedded/find.js')
      return await find(file, criteria, limit, { behind, before }, () => this.#mustBeOpen())
    })
  }

  async #write<T> (change: (ledger: Ledger, file: StoreFile) => T, check?: (file: StoreFile) => Promise<void>): Promise<T> {
    this.#mustBeOpen()
    return await this.#run(true, async (file) => {
      await check?.(file)
      try {
        const result = await committed(this.#path, file.root.transaction(() => this.#change(file, change)))
        this.#room.succeeded()
        return result
      } catch (error) {
        if (error instanceof StorageUnusableError) this.#room.failed(error)
        throw error
      }
    })
  }

  #change<T> (file: StoreFile, change: (ledger: Ledger, file: StoreFile) => T): T {
    const state = readState(file)
    const bounds = this.#boundsOf(state)
    if (Object.keys(this.#given).length > 0) state.bounds = bounds
    const ledger = new Ledger(file, bounds, state)
    try {
      return change(ledger, file)
    } finally {
      // What LMDB refuses it undoes as a whole; after any other error the counts are of what was done.
      writeState(file, ledger.state)
    }
  }

  /** What is under way is waited for before the file is closed. */
  async #run<T> (isWriter: boolean, work: (file: StoreFile) => T | Promise<T>): Promise<T> {
    const running = this.#shared.use(isWriter, work)
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  #boundsOf ({ bounds }: State): StorageBounds {
    return { ...DEFAULT_BOUNDS, ...bounds, ...this.#given }
  }

  #mustBeOpen (): void {
    if (this.#closing !== undefined) throw new StorageClosedError(this.#path)
  }
}

/** Opens a store, or begins one; what cannot be read is set aside. */
export async function openEmbeddedStorage ({ path, warn = (message) => process.emitWarning(message), ...bounds }: EmbeddedStorageOptions): Promise<EmbeddedStorage> {
  return new EmbeddedStorage(await openFile(path, warn), path, bounds)
}

function position (cursor: string): number {
  if (/^(?:0|[1-9]\d{0,14})$/.test(cursor)) return Number(cursor)
  throw new InvalidCursorError(cursor)
}
