import type { Profile, ProfileDraft } from '../../profile.js'
import type { ProfileBatch } from '../storage.js'
import { toLine } from '../summary-block.js'
import { indexEntry } from '../summary.js'
import { encodeProfile, type Lane } from './codec.js'

/** A profile with all that is sent of it. */
export interface Encoded {
  token: string
  lane: Lane
  row: string
  body: Buffer
}

interface Waiting extends Omit<Encoded, 'body'> {
  json: string
}

/** What is sent at once is felt by requests that come meanwhile. */
const MAX_BATCH = 256
const MAX_CHARACTERS = 4 * 1024 * 1024

/** Profiles as JSON: each is made it as it comes, so that nobody has to wait for all of them. */
export class JsonBatch implements ProfileBatch {
  readonly #keep: (profiles: readonly Encoded[]) => Promise<void>
  readonly #waiting: Waiting[] = []
  #characters = 0

  constructor (keep: (profiles: readonly Encoded[]) => Promise<void>) {
    this.#keep = keep
  }

  get isFull (): boolean {
    return this.#waiting.length >= MAX_BATCH || this.#characters >= MAX_CHARACTERS
  }

  add (profile: Profile | ProfileDraft): void {
    const json = JSON.stringify(profile)
    const entry = indexEntry(profile)
    this.#waiting.push({ token: profile.token, lane: entry.summary.error ? 'f' : 's', row: toLine(entry), json })
    this.#characters += json.length
  }

  get (token: string): Profile | undefined {
    const waiting = this.#waiting.find((one) => one.token === token)
    return waiting && JSON.parse(waiting.json) as Profile
  }

  async write (): Promise<void> {
    await this.#keep(await Promise.all(this.#waiting.map(async ({ json, ...one }) => ({ ...one, body: await encodeProfile(json) }))))
  }
}
