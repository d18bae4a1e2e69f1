import type { FastifySessionOptions } from '@fastify/session'
import { httpError } from '../http/http-errors.js'

/** A session store, in the interface of @fastify/session. */
export type SessionStore = NonNullable<FastifySessionOptions['store']>

type Stored = Parameters<SessionStore['set']>[1]
type Callback = (error?: unknown, session?: Stored | null) => void

/** The session store failed, or did not answer in time: the response is 503. */
export class SessionStoreError extends httpError('SessionStoreError', 'HINDSIGHT_SESSION_STORE', 503) {}

/** Reads a session, or another record that was stored as one; undefined or null if there is none. */
export async function readSession (store: SessionStore, id: string): Promise<Stored | null | undefined> {
  return await new Promise((resolve, reject) => {
    store.get(id, (error, session) => error ? reject(error) : resolve(session))
  })
}

const DAY = 24 * 60 * 60 * 1000

export interface SessionStoreOptions {
  /** Maximum number of sessions; beyond it the least recently used one is removed. */
  limit?: number
  /** Milliseconds without use after which a session expires whose cookie has no expiry. */
  idle?: number
}

interface Entry {
  json: string
  /** The expiry of the cookie, in milliseconds since the epoch; undefined where it has none. */
  fixed: number | undefined
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

  set (id: string, session: Stored, done: Callback): void {
    let json: string
    try {
      json = JSON.stringify(session)
    } catch (error) {
      return done(new Error(`The session cannot be stored: ${(error as Error).message}`, { cause: error }))
    }
    const expires = Number(session.cookie?.expires ?? NaN)
    this.#put(id, json, Number.isNaN(expires) ? undefined : expires)
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size <= this.#limit && entry.expires > Date.now()) break
      this.#entries.delete(key)
    }
    done()
  }

  get (id: string, done: Callback): void {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.expires <= Date.now()) {
      this.#entries.delete(id)
      return done(null, null)
    }
    this.#put(id, entry.json, entry.fixed)
    done(null, JSON.parse(entry.json) as Stored)
  }

  destroy (id: string, done: Callback): void {
    this.#entries.delete(id)
    done()
  }

  #put (id: string, json: string, fixed: number | undefined): void {
    this.#entries.delete(id)
    this.#entries.set(id, { json, fixed, expires: fixed ?? Date.now() + this.#idle })
  }
}

/**
 * A store of the application whose calls are answered once and within `timeout` milliseconds (0: no limit), or fail
 * with a `SessionStoreError`.
 */
export function guardedStore (store: SessionStore, timeout: number): SessionStore {
  function call (method: string, start: (answer: Callback) => unknown, done: Callback): void {
    let timer: NodeJS.Timeout | undefined
    const answered = new Promise<Stored | null | undefined>((resolve, reject) => {
      const late = (): void => reject(new Error(`${method} was not answered within ${timeout} ms`))
      if (timeout > 0) timer = setTimeout(late, timeout)
      const result = start((error, session) => {
        const isMissing = (error as NodeJS.ErrnoException | null | undefined)?.code === 'ENOENT'
        if (error && !isMissing) reject(error)
        else resolve(session)
      })
      // The method may be an asynchronous function.
      Promise.resolve(result).catch(reject)
    })
    answered.finally(() => clearTimeout(timer)).then((session) => done(null, session)).catch((error: unknown) => {
      // @fastify/session throws where the value that the store returned is no session.
      const reason = error instanceof Error ? error.message : String(error)
      done(new SessionStoreError(`The session store failed: ${reason}`, { cause: error }))
    })
  }
  return {
    get: (id, done) => call('get', (answer) => store.get(id, answer), done as Callback),
    set: (id, session, done) => call('set', (answer) => store.set(id, session, answer), done as Callback),
    destroy: (id, done) => call('destroy', (answer) => store.destroy(id, answer), done as Callback)
  }
}
