import type { Profile, ProfileDraft } from '../profile.js'
import { matcher, type Criteria } from './criteria.js'
import { redisAddress, type RedisAddress } from './redis/address.js'
import type { Found, WalkOptions } from './redis/block-reader.js'
import { Blocks } from './redis/blocks.js'
import { decodeProfile, headOf, isPinned, type Head } from './redis/codec.js'
import { RedisConnection, type Argument, type Reply } from './redis/connection.js'
import { agreeOnBounds, checkFormat } from './redis/format.js'
import { JsonBatch, type Encoded } from './redis/json-batch.js'
import { FORMAT } from './redis/lua.js'
import { CLEAR, EVICT, PIN, PUT, REMOVE, ROWS, STATS } from './redis/scripts.js'
import { replaceStale, tidy } from './redis/tidy.js'
import { position, walk, type Step } from './redis/walk.js'
import { DEFAULT_BOUNDS, FAILURE_SHARE, InvalidCursorError, PINNED_SHARE, TooManyPinnedError } from './storage.js'
import type { ProfilePage, ProfileStorage, SearchOptions, StorageBounds, StorageStats } from './storage.js'
import { toLine } from './summary-block.js'
import { indexEntry } from './summary.js'

export interface RedisStorageOptions extends Partial<StorageBounds> {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
  url: string
  /** Stands ahead of all keys. */
  prefix?: string
  /** Milliseconds for an answer; what takes longer is rejected. */
  timeout?: number
  /** Told when Redis goes away and when it is back. */
  warn?: (message: string) => void
}

/** So much goes into one script, so that others who use this Redis need not wait. */
const MAX_SCRIPT_BYTES = 2 * 1024 * 1024
const MAX_REMOVED = 500
/** How often a profile may be replaced while it is being pinned. */
const MAX_TRIES = 5

/** Opens the store of profiles that several machines share. A Redis that is away does not keep it from opening. */
export async function openRedisStorage ({ url, prefix = 'hindsight:', timeout = 500, warn = () => {}, ...bounds }: RedisStorageOptions): Promise<RedisStorage> {
  const storage = new RedisStorage(redisAddress(url), bounds, { prefix, timeout, warn })
  await storage.opened()
  return storage
}

/** Keeps profiles in Redis or Valkey, in few keys whose names have a tag: a cluster keeps them together. */
export class RedisStorage implements ProfileStorage {
  readonly #given: Partial<StorageBounds>
  #bounds: StorageBounds
  readonly #place: string
  readonly #root: string
  readonly #connection: RedisConnection
  readonly #blocks: Blocks

  constructor (address: RedisAddress, bounds: Partial<StorageBounds>, { prefix, timeout, warn }: { prefix: string, timeout: number, warn: (message: string) => void }) {
    this.#given = bounds
    this.#bounds = { ...DEFAULT_BOUNDS, ...bounds }
    this.#place = address.place
    const tagged = prefix.includes('{') ? prefix : `${prefix}{${prefix.replace(/:$/, '') || 'hindsight'}}:`
    this.#root = `${tagged}${FORMAT}:`
    this.#connection = new RedisConnection(address, { timeout, warn, ready: async () => await this.#ready(tagged, warn) })
    this.#blocks = new Blocks(this.#connection, this.#root)
  }

  /** Waits until Redis was reached, or not. */
  async opened (): Promise<void> {
    await this.#connection.opened()
  }

  async put (profiles: ReadonlyArray<Profile | ProfileDraft>): Promise<void> {
    const batch = this.batch()
    for (const profile of profiles) batch.add(profile)
    await batch.write()
  }

  batch (): JsonBatch {
    return new JsonBatch(async (profiles) => await this.#keep(profiles))
  }

  async get (token: string): Promise<Profile | undefined> {
    return (await this.#read(token))?.profile
  }

  async has (token: string): Promise<boolean> {
    return await this.#connection.send('EXISTS', this.#key(token)) === 1
  }

  async search ({ criteria = {}, limit, cursor, after }: SearchOptions): Promise<ProfilePage> {
    const before = cursor === undefined ? Infinity : position(cursor)
    const behind = after === undefined ? 0 : position(after)
    const found: Found[] = []
    let head: number | undefined
    for await (const step of this.#steps({ ...this.#parts(), criteria, limit: limit + 1, before, behind })) {
      head ??= step.head
      found.push(...step.found)
      if (found.length > limit) break
    }
    // The place of another store, or of one that began anew.
    if (after !== undefined && behind > (head ?? 0)) throw new InvalidCursorError(after)
    if (cursor !== undefined && before > (head ?? 0)) throw new InvalidCursorError(cursor)
    const page = found.slice(0, limit)
    return {
      profiles: page.map(({ summary }) => summary),
      next: found.length > limit ? String(page.at(-1)?.order) : null,
      head: String(head)
    }
  }

  async pin (token: string, pinned: boolean): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      const stored = await this.#read(token)
      if (stored === undefined || tries > MAX_TRIES) return false
      const row = toLine(indexEntry(stored.profile))
      const done = await this.#run(PIN, ...this.#limits(), token, String(stored.order), pinned ? '1' : '0', row)
      if (done === -1) throw new TooManyPinnedError(token)
      // Otherwise it was replaced or evicted meanwhile.
      if (done === 1) return true
    }
  }

  async purge (criteria: Criteria = {}, { pinned = false }: { pinned?: boolean } = {}): Promise<number> {
    let sum = 0
    const isAll = Object.keys(criteria).length === 0
    for await (const { found, head } of this.#steps({ ...this.#parts(), criteria, limit: isAll ? 1 : MAX_REMOVED })) {
      if (isAll) return await this.#clear(pinned ? 'sfSF' : 'sf', head)
      const gone = found.filter(({ summary }) => pinned || !summary.pinned)
      for (let at = 0; at < gone.length; at += MAX_REMOVED) {
        sum += Number(await this.#run(REMOVE, ...gone.slice(at, at + MAX_REMOVED).flatMap(({ summary, order }) => [summary.token, String(order)])))
      }
    }
    await replaceStale(this.#parts())
    return sum
  }

  async stats (): Promise<StorageStats> {
    const [s, sBytes, f, fBytes, pinnedS, pinnedSBytes, pinnedF, pinnedFBytes] = await this.#run(STATS) as [number, number, number, number, number, number, number, number]
    return {
      engine: 'redis',
      place: this.#place,
      profiles: s + f + pinnedS + pinnedF,
      bytes: sBytes + fBytes + pinnedSBytes + pinnedFBytes,
      failures: f + pinnedF,
      pinned: pinnedS + pinnedF,
      ...this.#bounds
    }
  }

  close (): void {
    this.#connection.close()
  }

  async #keep (profiles: readonly Encoded[]): Promise<void> {
    const batches: Argument[][] = []
    let bytes = Infinity
    for (const { token, lane, row, body } of profiles) {
      bytes += body.length
      if (bytes > MAX_SCRIPT_BYTES) {
        batches.push([])
        bytes = body.length
      }
      batches.at(-1)?.push(token, lane, row, body)
    }
    const answers = await Promise.all(batches.map((batch) => this.#run(PUT, ...this.#limits(), ...batch))) as Array<[isOver: number, isUntidy: number]>
    // What this leaves undone is done after another put.
    if (answers.some(([, isUntidy]) => isUntidy === 1)) tidy(this.#parts()).catch(() => {})
    if (answers.some(([isOver]) => isOver === 1)) while (await this.#run(EVICT, ...this.#limits()) === 1);
  }

  async #ready (prefix: string, warn: (message: string) => void): Promise<void> {
    this.#blocks.clear()
    await checkFormat(this.#connection, prefix, warn)
    this.#bounds = await agreeOnBounds(this.#connection, `${this.#root}meta`, this.#given)
  }

  #parts (): { connection: RedisConnection, root: string, blocks: Blocks } {
    return { connection: this.#connection, root: this.#root, blocks: this.#blocks }
  }

  async * #steps (options: WalkOptions): AsyncGenerator<Step> {
    const { criteria, before = Infinity, behind = 0 } = options
    if (criteria.token === undefined) return yield * walk(options)
    const [stored, head] = await Promise.all([this.#read(criteria.token), this.#run(ROWS, '', '0', '+inf', '0', '0')])
    if (stored === undefined || stored.order >= before || stored.order <= behind) return yield { found: [], head: Number(head) }
    const entry = { ...indexEntry(stored.profile, isPinned(stored.lane)), order: stored.order }
    yield { found: matcher(criteria)(entry) ? [entry] : [], head: Number(head) }
  }

  async #clear (lanes: string, upTo: number): Promise<number> {
    let sum = 0
    for (;;) {
      const gone = Number(await this.#run(CLEAR, lanes, String(upTo), String(MAX_REMOVED)))
      sum += gone
      if (gone < MAX_REMOVED) return sum
    }
  }

  async #read (token: string): Promise<Head & { profile: Profile } | undefined> {
    const value = await this.#connection.send('GET', this.#key(token))
    if (!Buffer.isBuffer(value)) return undefined
    const head = headOf(value)
    return head === null ? undefined : { ...head, profile: await decodeProfile(value, this.#key(token)) }
  }

  #key (token: string): string {
    return `${this.#root}profile:${token}`
  }

  #limits (): string[] {
    return [this.#bounds.maxProfiles, this.#bounds.maxBytes, FAILURE_SHARE, PINNED_SHARE].map(String)
  }

  async #run (script: typeof PUT, ...args: Argument[]): Promise<Reply> {
    return await this.#connection.run(script, `${this.#root}meta`, this.#root, ...args)
  }
}
