/** Remembers what was made of texts: the newest of them, up to a number of entries and of characters. */
export class LimitedMap<T> {
  readonly #entries = new Map<string, T>()
  readonly #maxEntries: number
  readonly #maxLength: number
  #length = 0

  constructor (maxEntries: number, maxLength: number) {
    this.#maxEntries = maxEntries
    this.#maxLength = maxLength
  }

  get (key: string): T | undefined {
    return this.#entries.get(key)
  }

  set (key: string, value: T): void {
    if (key.length > this.#maxLength) return
    if (!this.#entries.has(key)) this.#length += key.length
    this.#entries.set(key, value)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries && this.#length <= this.#maxLength) return
      this.#entries.delete(oldest)
      this.#length -= oldest.length
    }
  }
}
