/** So many kinds of requests in a row are told apart. */
const MAX_RECENT = 16

interface Recent {
  facts: readonly unknown[]
  record: object | null
}

/**
 * Records by the facts that they are made of: from the second time on that these are the same, the record is the same object. With null for them, as for what
 * nobody is to remember, it is always made. `make` is to depend on nothing else.
 */
export class RecentRecords {
  readonly #recent: Recent[] = []
  #next = 0

  of<T extends object> (facts: readonly unknown[] | null, make: () => T): T {
    if (facts === null) return make()
    for (const recent of this.#recent) {
      if (!areSame(recent.facts, facts)) continue
      return (recent.record ??= make()) as T
    }
    this.#recent[this.#next++ % MAX_RECENT] = { facts, record: null }
    return make()
  }
}

function areSame (one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false
  return true
}
