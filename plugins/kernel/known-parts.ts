import { LimitedMap } from './limited-map.js'

/** Keeps what was made of texts, so that the same text gives the same part again. Whoever has one must not change it. */
export class KnownParts<T extends object> {
  readonly #known: LimitedMap<T>

  constructor (maxEntries = 200, maxLength = 100_000) {
    this.#known = new LimitedMap(maxEntries, maxLength)
  }

  of (key: string, make: () => T): T {
    let part = this.#known.get(key)
    if (part === undefined) this.#known.set(key, part = make())
    return part
  }
}
