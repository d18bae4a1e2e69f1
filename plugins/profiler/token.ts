import { randomFillSync } from 'node:crypto'

/** What a profile's token looks like: six lower-case hexadecimal digits. */
export const TOKEN_PATTERN = /^[0-9a-f]{6}$/

const MAX_DRAWS = 64
const POOL = 32
/** Milliseconds for which the answer of a store that answers at once counts: another process may give the same token. */
const FRESH = 1_000
/** Tokens that were given away and whose profile has not come yet must not be given twice. */
const MAX_RESERVED = 10_000

const DRAWN = 256
const octets = Buffer.alloc(3 * DRAWN)
let drawn = DRAWN

/** Three random bytes, in hexadecimal; many are drawn at once, since each call to the generator costs more than all that it gives. */
function drawToken (): string {
  if (drawn === DRAWN) {
    randomFillSync(octets)
    drawn = 0
  }
  const at = 3 * drawn++
  return octets.toString('hex', at, at + 3)
}

type Exists = (token: string) => boolean | Promise<boolean>

/** Gives tokens that no profile has, at once: where the store answers later, from a pool that was asked about before. */
export class TokenSource {
  readonly #exists: Exists
  readonly #reserved = new Set<string>()
  readonly #pool: string[] = []
  readonly #now: () => number
  /** When the store was asked for those in the pool. */
  #askedAt = 0
  /** How many are drawn at once. */
  #lot = 1
  #filling = false
  #answersAtOnce = true

  /** `exists` may throw or reject: a store that is away must not keep a request from its token. */
  constructor (exists: Exists, now = () => performance.now()) {
    this.#exists = exists
    this.#now = now
  }

  /** A token that is given to nobody else, as far as the store could say so. */
  take (): string {
    if (this.#answersAtOnce && (this.#pool.length === 0 || this.#now() - this.#askedAt > FRESH)) this.#drawMany()
    const token = this.#pool.pop() ?? this.#drawUnseen()
    if (!this.#answersAtOnce && this.#pool.length < POOL / 2) this.#fill()
    this.#reserve(token)
    return token
  }

  /** Forgets a token that was given: the store knows its profile now. */
  release (token: string): void {
    this.#reserved.delete(token)
  }

  // Ever more at once, as it is the first question of a turn that costs a store most; one again where it begins to be full.
  #drawMany (): void {
    // Who asks seldom asks for one.
    if (this.#pool.length > 0) this.#lot = 1
    this.#pool.length = 0
    this.#askedAt = this.#now()
    const lot = this.#lot
    this.#lot = Math.min(2 * lot, POOL)
    for (let drawn = 0; drawn < lot && drawn < this.#lot && this.#answersAtOnce; drawn++) this.#pool.push(this.#draw())
  }

  // Of a store that calls everything taken no token would ever come, and the response waits for one: after 64 draws the last is given all the same.
  #draw (): string {
    for (let draws = 1; ; draws++) {
      const token = this.#drawUnseen()
      const taken = this.#isTaken(token)
      if (typeof taken !== 'boolean') {
        this.#answersAtOnce = false
        taken.catch(() => {})
        return token
      }
      if (!taken || draws >= MAX_DRAWS) return token
      this.#lot = 1
    }
  }

  #isTaken (token: string): boolean | Promise<boolean> {
    try {
      return this.#exists(token)
    } catch {
      return false
    }
  }

  #drawUnseen (): string {
    for (let draws = 1; ; draws++) {
      const token = drawToken()
      if (draws >= MAX_DRAWS || (!this.#reserved.has(token) && !this.#pool.includes(token))) return token
    }
  }

  async #fill (): Promise<void> {
    if (this.#filling) return
    this.#filling = true
    try {
      const drawn = Array.from({ length: POOL - this.#pool.length }, () => this.#drawUnseen())
      const taken = await Promise.all(drawn.map((token) => this.#isTaken(token)))
      this.#pool.push(...new Set(drawn.filter((token, i) => taken[i] === false && !this.#reserved.has(token))))
    } catch {
      // The next request tries again.
    } finally {
      this.#filling = false
    }
  }

  #reserve (token: string): void {
    this.#reserved.add(token)
    if (this.#reserved.size <= MAX_RESERVED) return
    const [oldest] = this.#reserved
    if (oldest !== undefined) this.#reserved.delete(oldest)
  }
}
