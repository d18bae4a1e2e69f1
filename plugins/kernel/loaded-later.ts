import type { FastifyInstance } from 'fastify'

/** Modules that only some requests need: loaded behind the start, when the application listens, or with the first request that needs them. */
export class LoadedLater<T> {
  /** What was loaded; null before that. */
  now: T | null = null
  readonly #import: () => Promise<T>
  #loading: Promise<T> | null = null

  constructor (app: FastifyInstance, load: () => Promise<T>) {
    this.#import = load
    app.addHook('onListen', (done) => {
      done()
      // Whoever needs them is told why they cannot be loaded.
      this.load().catch(() => {})
    })
  }

  /** Loads them, once; what has failed is tried again by whoever asks next. */
  async load (): Promise<T> {
    if (this.now !== null) return this.now
    this.#loading ??= this.#import().finally(() => { this.#loading = null })
    return (this.now = await this.#loading)
  }
}
