import type { FastifySessionOptions } from '@fastify/session'
import { httpError } from '../http/http-errors.js'

/** A session store, in the interface of @fastify/session. */
export type SessionStore = NonNullable<FastifySessionOptions['store']>

type Answer = (error?: unknown, session?: unknown) => void

/** The session store failed, or did not answer in time: the response is 503. */
export class SessionStoreError extends httpError('SessionStoreError', 'HINDSIGHT_SESSION_STORE', 503) {}

const DAY = 24 * 60 * 60 * 1000
const sharedStores = new WeakMap<object, SessionStore>()

/** Sets the store of an application for records other than sessions, such as the marks of logins that were ended. */
export function shareStore (services: object, store: SessionStore): void {
  sharedStores.set(services, store)
}

/** The store that `shareStore` has set; undefined in an application without sessions. */
export function storeOf (services: object): SessionStore | undefined {
  return sharedStores.get(services)
}

export interface SessionStoreOptions {
  /** Maximum number of sessions; beyond it the least recently used one is removed. */
  limit?: number
  /** Milliseconds without use after which a session expires whose cookie has no expiry. */
  idle?: number
}

interface Entry {
  json: string
  /** The expiry of the cookie, in milliseconds since the epoch; null where it has none. */
  fixed: number | null
  expires: number
}

/**
 * Sessions in memory. They are kept as JSON, so that no session references its request. Every method calls back
 * synchronously: a session can be read when `request.session` is first used.
 */
export class MemorySessionStore implements SessionStore {
  // The least recently used entry is the first.
  readonly #entries = new Map<string, Entry>()
  readonly #limit: number
  readonly #idle: number

  constructor ({ limit = 10_000, idle = DAY }: SessionStoreOptions = {}) {
    this.#limit = limit
    this.#idle = idle
  }

  get size (): number {
    return this.#entries.size
  }

  set (id: string, session: Parameters<SessionStore['set']>[1], done: Parameters<SessionStore['set']>[2]): void {
    let json: string
    try {
      json = JSON.stringify(session)
    } catch (error) {
      done(new Error(`The session cannot be stored: ${(error as Error).message}`, { cause: error }))
      return
    }
    const expires = Number(session.cookie?.expires ?? NaN)
    this.#put(id, json, Number.isNaN(expires) ? null : expires)
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size <= this.#limit && entry.expires > Date.now()) break
      this.#entries.delete(key)
    }
    done()
  }

  get (id: string, done: Parameters<SessionStore['get']>[1]): void {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.expires <= Date.now()) {
      this.#entries.delete(id)
      return done(null, null)
    }
    this.#put(id, entry.json, entry.fixed)
    done(null, JSON.parse(entry.json))
  }

  destroy (id: string, done: Parameters<SessionStore['destroy']>[1]): void {
    this.#entries.delete(id)
    done()
  }

  #put (id: string, json: string, fixed: number | null): void {
    this.#entries.delete(id)
    this.#entries.set(id, { json, fixed, expires: fixed ?? Date.now() + this.#idle })
  }
}

/** A store of the application: each call is answered once and in time, or fails with a `SessionStoreError`. */
export class GuardedSessionStore implements SessionStore {
  readonly #store: SessionStore
  readonly #timeout: number

  /** `timeout`: milliseconds; 0 for none. */
  constructor (store: SessionStore, timeout: number) {
    this.#store = store
    this.#timeout = timeout
  }

  get (id: string, done: Parameters<SessionStore['get']>[1]): void {
    this.#call('get', (answer) => this.#store.get(id, answer as never), done as Answer)
  }

  set (id: string, session: Parameters<SessionStore['set']>[1], done: Parameters<SessionStore['set']>[2]): void {
    this.#call('set', (answer) => this.#store.set(id, session, answer as never), done as Answer)
  }

  destroy (id: string, done: Parameters<SessionStore['destroy']>[1]): void {
    this.#call('destroy', (answer) => this.#store.destroy(id, answer as never), done as Answer)
  }

  /** Rejects where the store is unavailable. */
  async probe (): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.get('hindsight-probe', (error: unknown) => { if (error instanceof Error) reject(error); else resolve() })
    })
  }

  #call (method: string, start: (answer: Answer) => unknown, done: Answer): void {
    let timer: NodeJS.Timeout | undefined
    const answered = new Promise((resolve, reject) => {
      const late = (): void => reject(new Error(`${method} was not answered within ${this.#timeout} ms`))
      if (this.#timeout > 0) timer = setTimeout(late, this.#timeout)
      const answer: Answer = (error, session) => {
        // A session that does not exist is no failure.
        if (error && (error as NodeJS.ErrnoException).code !== 'ENOENT') reject(error)
        else resolve(session)
      }
      // The method may be an asynchronous function.
      Promise.resolve(start(answer)).catch(reject)
    })
    answered.finally(() => clearTimeout(timer)).then((session) => done(null, session)).catch((error: unknown) => {
      // @fastify/session throws where the value that the store returned is no session.
      const reason = error instanceof Error ? error.message : String(error)
      done(new SessionStoreError(`The session store failed: ${reason}`, { cause: error }))
    })
  }
}
