import type { FastifySessionOptions } from '@fastify/session'
import { httpError } from '../http/http-errors.js'

type Store = NonNullable<FastifySessionOptions['store']>
type Done = (error?: unknown, session?: unknown) => void

/** The store of sessions failed, or did not answer in time; what the cause says is for the log (RFC 9110, section 15.6.4). */
export class SessionStoreError extends httpError('SessionStoreError', 'HINDSIGHT_SESSION_STORE', 503) {}

/** A store of the application's own: whatever it does, each question is answered once and in time, or fails as one of a store that is away. */
export class GuardedSessionStore implements Store {
  readonly #store: Store
  readonly #timeout: number

  constructor (store: Store, timeout: number) {
    this.#store = store
    this.#timeout = timeout
  }

  get (id: string, done: Parameters<Store['get']>[1]): void {
    this.#ask('get', (answer) => this.#store.get(id, answer as never), done as Done)
  }

  set (id: string, session: Parameters<Store['set']>[1], done: Parameters<Store['set']>[2]): void {
    this.#ask('set', (answer) => this.#store.set(id, session, answer as never), done as Done)
  }

  destroy (id: string, done: Parameters<Store['destroy']>[1]): void {
    this.#ask('destroy', (answer) => this.#store.destroy(id, answer as never), done as Done)
  }

  /** Rejects where the store is away. */
  async probe (): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.get('hindsight-probe', ((error: unknown) => isFailure(error) ? reject(error) : resolve()) as never)
    })
  }

  #ask (verb: string, ask: (answer: Done) => unknown, done: Done): void {
    let over = false
    let timer: NodeJS.Timeout | undefined
    const answer: Done = (error, session) => {
      // A store that answers twice would end a response twice.
      if (over) return
      over = true
      clearTimeout(timer)
      if (isFailure(error)) return done(failureOf(error))
      try {
        done(error ?? null, session)
      } catch (unusable) {
        // What is kept can be no session at all: nobody else would hear of it, and the request would wait for ever.
        done(failureOf(unusable))
      }
    }
    try {
      const asked: unknown = ask(answer)
      if (asked instanceof Promise) asked.catch(answer)
    } catch (error) {
      answer(error)
    }
    if (!over && this.#timeout > 0) timer = setTimeout(() => answer(new Error(`${verb} was not answered within ${this.#timeout} ms`)), this.#timeout)
  }
}

// A session that is not there is no failure.
function isFailure (error: unknown): boolean {
  return error !== null && error !== undefined && error !== false && (error as NodeJS.ErrnoException).code !== 'ENOENT'
}

function failureOf (error: unknown): SessionStoreError {
  return new SessionStoreError(`The store of sessions failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
}
