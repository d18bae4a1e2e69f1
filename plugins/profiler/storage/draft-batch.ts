import type { Profile, ProfileDraft } from '../profile.js'
import type { Awaitable, ProfileBatch } from './storage.js'

/** What an engine makes of a batch is felt by requests that come meanwhile. */
const MAX_BATCH = 256

/** The batch of an engine that has none of its own: the profiles as they are. */
export class DraftBatch implements ProfileBatch {
  readonly #profiles = new Map<string, Profile | ProfileDraft>()
  readonly #put: (profiles: ReadonlyArray<Profile | ProfileDraft>) => Awaitable<void>

  constructor (put: (profiles: ReadonlyArray<Profile | ProfileDraft>) => Awaitable<void>) {
    this.#put = put
  }

  get isFull (): boolean {
    return this.#profiles.size >= MAX_BATCH
  }

  add (profile: Profile | ProfileDraft): void {
    this.#profiles.set(profile.token, profile)
  }

  get (token: string): Profile | ProfileDraft | undefined {
    return this.#profiles.get(token)
  }

  write (): Awaitable<void> {
    return this.#put([...this.#profiles.values()])
  }
}
