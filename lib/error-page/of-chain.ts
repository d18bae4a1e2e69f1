import type { FlattenedException } from '../errors/exception.js'

interface Entry<T> {
  chain: FlattenedException[]
  beside: unknown
  made: T | null
}

/** What is made of a chain of exceptions: kept, from the second time on, for failures that have the very same ones. */
export class OfChain<T> {
  readonly #entries = new WeakMap<FlattenedException, Entry<T>>()

  /** Null for a chain that was not seen before; `beside` is what else decides what is made. */
  get (chain: readonly FlattenedException[], beside: unknown, make: () => T): T | null {
    const last = chain.at(-1)
    if (last === undefined) return null
    const entry = this.#entries.get(last)
    if (entry !== undefined && entry.beside === beside && entry.chain.length === chain.length && entry.chain.every((exception, i) => exception === chain[i])) return (entry.made ??= make())
    this.#entries.set(last, { chain: [...chain], beside, made: null })
    return null
  }
}
