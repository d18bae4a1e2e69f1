import type { Entry } from './chunk.js'

/** What shares a fate: its profiles by token, oldest first. */
export class Lane extends Map<string, Entry> {
  bytes = 0
  // V8 passes over what was deleted each time that somebody begins at the front.
  #ahead: IterableIterator<string> | undefined
  #oldest: string | undefined

  get oldest (): Entry | undefined {
    if (this.#oldest === undefined) {
      let next = (this.#ahead ??= this.keys()).next()
      // One that has come to its end stays there.
      if (next.done === true) next = (this.#ahead = this.keys()).next()
      this.#oldest = next.value
    }
    return this.#oldest === undefined ? undefined : this.get(this.#oldest)
  }

  override set (token: string, entry: Entry): this {
    this.delete(token)
    this.bytes += entry.bytes
    return super.set(token, entry)
  }

  override delete (token: string): boolean {
    const entry = this.get(token)
    if (entry === undefined) return false
    this.bytes -= entry.bytes
    // An iterator holds what was there when it was last asked. Whoever is not the oldest seldom goes.
    if (this.#oldest !== token) this.#ahead = undefined
    this.#oldest = undefined
    return super.delete(token)
  }

  override clear (): void {
    this.bytes = 0
    this.#ahead = this.#oldest = undefined
    super.clear()
  }
}
