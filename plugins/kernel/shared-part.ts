import { LimitedMap } from './limited-map.js'

const texts = new WeakMap<object, string>()

/**
 * Marks plain, masked data that many profiles have in common: it is frozen, made JSON once, and a store that packs many profiles
 * together writes it once for all of them.
 */
export function share<T extends object> (part: T): T {
  if (!texts.has(part)) texts.set(frozen(part), JSON.stringify(part))
  return part
}

const seen = new WeakSet<object>()

/** Shares what comes a second time: most of what comes once never comes again. */
export function shareAgain<T extends object> (part: T): T {
  if (seen.has(part)) return share(part)
  seen.add(part)
  return part
}

/** The JSON of a part that was shared; undefined for anything else. */
export function sharedText (part: object): string | undefined {
  return texts.get(part)
}

/** Remembers the parts that were made of texts, so that who asks with the same text again gets the same part. */
export class SharedParts<T extends object> {
  readonly #known: LimitedMap<T>

  constructor (maxEntries = 200, maxLength = 100_000) {
    this.#known = new LimitedMap(maxEntries, maxLength)
  }

  of (key: string, make: () => T): T {
    let part = this.#known.get(key)
    if (part === undefined) this.#known.set(key, part = share(make()))
    return part
  }
}

function frozen<T extends object> (part: T): T {
  for (const value of Object.values(part) as unknown[]) if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) frozen(value)
  return Object.freeze(part)
}
