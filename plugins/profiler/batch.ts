import type { Profile, ProfileDraft } from './profile.js'
import { DraftBatch } from './storage/draft-batch.js'
import type { ProfileBatch } from './storage/storage.js'

/** Profiles that are packed as they come and written together, as the queue counts them: a store may count otherwise. */
export class Batch {
  /** A batch has each of them once. */
  readonly tokens = new Set<string>()
  /** The number of the oldest, in the order in which they were taken. */
  first = Infinity
  readonly #packed: ProfileBatch

  constructor (packed: ProfileBatch) {
    this.#packed = packed
  }

  /** Whether what comes has to wait for the next one; there is always room for one. */
  get isFull (): boolean {
    return this.tokens.size > 0 && this.#packed.isFull
  }

  /** Whether it holds the profiles as the objects that they are. */
  get holdsObjects (): boolean {
    return this.#packed instanceof DraftBatch
  }

  add (token: string, number: number, profile: Profile | ProfileDraft): void {
    this.#packed.add(profile)
    this.tokens.add(token)
    this.first = Math.min(this.first, number)
  }

  get (token: string): Profile | ProfileDraft | undefined {
    return this.tokens.has(token) ? this.#packed.get(token) : undefined
  }

  async write (): Promise<void> {
    await this.#packed.write()
  }
}
