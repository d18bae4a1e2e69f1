import type { FastifySessionOptions } from '@fastify/session'

/** Keeps sessions, as @fastify/session takes it. */
export type SessionStore = NonNullable<FastifySessionOptions['store']>
type Store = SessionStore

const storesOf = new WeakMap<object, SessionStore>()

/** Makes the store known in which an application keeps something beside its sessions. */
export function shareStore (services: object, store: SessionStore): void {
  storesOf.set(services, store)
}

/** Where an application keeps what stands beside its sessions; undefined where it has none. */
export function storeOf (services: object): SessionStore | undefined {
  return storesOf.get(services)
}

export interface SessionStoreOptions {
  /** How many sessions are kept; beyond that the one that was not used for longest goes. */
  limit?: number
  /** Milliseconds without use after which a session is over whose cookie has no expiry. */
  idle?: number
}

interface Kept {
  json: string
  /** Milliseconds of the epoch; null: by the last use. */
  expires: number | null
  used: number
}

const DAY = 24 * 60 * 60 * 1000

/**
 * Sessions in memory, as JSON: nothing of the request that made one is held. It calls back at once, so that a session
 * can be read at its first touch.
 */
export class MemorySessionStore implements Store {
  // In the order of use, the longest unused first.
  readonly #sessions = new Map<string, Kept>()
  readonly #limit: number
  readonly #idle: number

  constructor ({ limit = 10_000, idle = DAY }: SessionStoreOptions = {}) {
    this.#limit = limit
    this.#idle = idle
  }

  get size (): number {
    return this.#sessions.size
  }

  set (id: string, session: Parameters<Store['set']>[1], done: Parameters<Store['set']>[2]): void {
    let json: string
    try {
      json = JSON.stringify(session)
    } catch (error) {
      done(new Error(`The session cannot be kept: ${(error as Error).message}`, { cause: error }))
      return
    }
    const expires = Number(session.cookie?.expires ?? NaN)
    this.#sessions.delete(id)
    this.#sessions.set(id, { json, expires: Number.isNaN(expires) ? null : expires, used: Date.now() })
    this.#makeRoom()
    done()
  }

  get (id: string, done: Parameters<Store['get']>[1]): void {
    const kept = this.#sessions.get(id)
    if (kept === undefined) return done(null, null)
    this.#sessions.delete(id)
    if (this.#isOver(kept)) return done(null, null)
    kept.used = Date.now()
    this.#sessions.set(id, kept)
    done(null, JSON.parse(kept.json))
  }

  destroy (id: string, done: Parameters<Store['destroy']>[1]): void {
    this.#sessions.delete(id)
    done()
  }

  #isOver ({ expires, used }: Kept): boolean {
    return (expires ?? used + this.#idle) <= Date.now()
  }

  #makeRoom (): void {
    for (const [id, kept] of this.#sessions) {
      if (this.#sessions.size <= this.#limit && !this.#isOver(kept)) return
      this.#sessions.delete(id)
    }
  }
}
