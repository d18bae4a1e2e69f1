import { LruMap } from 'toad-cache'
import { httpError } from 'fastify-hindsight/recorder'

// The interface of @fastify/session: its types would declare `request.session` wherever those of options are imported.
/** A session store of @fastify/session or express-session. */
export interface SessionStore {
  set (id: string, session: Stored, done: Callback): void
  get (id: string, done: Callback): void
  destroy (id: string, done: Callback): void
}

type Stored = any
type Callback = (error?: any, session?: Stored | null) => void

/** The session store failed, or did not answer in time: the response is 503. */
class SessionStoreError extends httpError('SessionStoreError', 'HINDSIGHT_SESSION_STORE', 503) {}

const MAX_SESSIONS = 10_000
/** Milliseconds after which a session that is not used is removed. */
const MAX_IDLE = 24 * 60 * 60 * 1_000

/** Sessions in memory, as JSON: no session references its request. It calls back synchronously. */
export class MemorySessionStore implements SessionStore {
  readonly #sessions = new LruMap<string>(MAX_SESSIONS, MAX_IDLE)

  set (id: string, session: Stored, done: Callback): void {
    this.#sessions.set(id, JSON.stringify(session))
    done()
  }

  get (id: string, done: Callback): void {
    const json = this.#sessions.get(id)
    if (json === undefined) return done(null, null)
    // Each use extends its time.
    this.#sessions.set(id, json)
    done(null, JSON.parse(json) as Stored)
  }

  destroy (id: string, done: Callback): void {
    this.#sessions.delete(id)
    done()
  }
}

const TIMEOUT = 2_000

/** A store of the application whose calls are answered once and within 2 s, or fail with a `SessionStoreError`. */
export function guardedStore (store: SessionStore): SessionStore {
  function call (start: (answer: Callback) => unknown, done: Callback): void {
    let timer: NodeJS.Timeout | undefined
    const answered = new Promise<Stored | null | undefined>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${TIMEOUT} ms`)), TIMEOUT)
      // The method may be an asynchronous function.
      Promise.resolve(start((error, session) => {
        // As in @fastify/session: a store of files reports a missing session as ENOENT.
        if (error && (error as NodeJS.ErrnoException).code !== 'ENOENT') reject(error)
        else resolve(session)
      })).catch(reject)
    })
    answered.finally(() => clearTimeout(timer)).then((session) => done(null, session)).catch((error: unknown) => {
      // @fastify/session throws where the value that the store returned is no session.
      const reason = error instanceof Error ? error.message : String(error)
      done(new SessionStoreError(`The session store failed: ${reason}`, { cause: error }))
    })
  }
  return {
    get: (id, done) => call((answer) => store.get(id, answer), done as Callback),
    set: (id, session, done) => call((answer) => store.set(id, session, answer), done as Callback),
    destroy: (id, done) => call((answer) => store.destroy(id, answer), done as Callback)
  }
}
