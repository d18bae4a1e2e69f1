import type { Profile, ProfileDraft } from '../profile.js'
import type { Criteria } from './criteria.js'
import { DraftBatch } from './draft-batch.js'
import { openStorage, type OpenStorageOptions } from './open.js'
import { DEFAULT_BOUNDS, type ProfileBatch, type ProfilePage, type ProfileStorage, type SearchOptions, type StorageStats } from './storage.js'

/** A store that several applications of a process use: it is opened with the first use, and stays open as long as the process lives. */
export class SharedStorage implements ProfileStorage {
  readonly #options: OpenStorageOptions
  #opening: Promise<ProfileStorage> | null = null
  #opened: ProfileStorage | null = null

  constructor (options: OpenStorageOptions) {
    this.#options = options
  }

  async put (profiles: ReadonlyArray<Profile | ProfileDraft>): Promise<void> {
    await (await this.#store()).put(profiles)
  }

  batch (): ProfileBatch {
    return this.#opened?.batch?.() ?? new DraftBatch((profiles) => this.put(profiles))
  }

  async get (token: string): Promise<Profile | undefined> {
    return await (await this.#store()).get(token)
  }

  async has (token: string): Promise<boolean> {
    return await (await this.#store()).has(token)
  }

  async search (options: SearchOptions): Promise<ProfilePage> {
    return await (await this.#store()).search(options)
  }

  async pin (token: string, pinned: boolean): Promise<boolean> {
    return await (await this.#store()).pin(token, pinned)
  }

  async purge (criteria?: Criteria, options?: { pinned?: boolean }): Promise<number> {
    return await (await this.#store()).purge(criteria, options)
  }

  async stats (): Promise<StorageStats> {
    return await (await this.#store()).stats()
  }

  /** Nothing: another application may go on with it. */
  close (): void {}

  // One that could not be opened is tried again.
  #store (): Promise<ProfileStorage> {
    return (this.#opening ??= openStorage({ ...DEFAULT_BOUNDS, ...this.#options }).then((store) => (this.#opened = store), (error: unknown) => {
      this.#opening = null
      throw error
    }))
  }
}
